// Every view of the page, in the order of the tabs. A view is {id, title, hotkey, load(context, signal), render(data, context)}.

import { orphans } from './orphans.js';
import { overview } from './overview.js';
import { plan } from './plan.js';
import { pools } from './pools.js';
import { request } from './request.js';
import { requests } from './requests.js';
import { telemetry } from './telemetry.js';
import { transfers } from './transfers.js';
import { why } from './why.js';

export const VIEWS = [overview, why, requests, pools, transfers, orphans, telemetry, plan, request];

export const viewById = (id) => VIEWS.find((v) => v.id === id) ?? overview;
