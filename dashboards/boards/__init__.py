"""The dashboards, in the order an incident is followed: what burns, why, where, which request, can we see."""

from dashboards.boards.hand_off import HAND_OFF
from dashboards.boards.pools import POOLS
from dashboards.boards.request import REQUEST
from dashboards.boards.slo_overview import SLO_OVERVIEW
from dashboards.boards.telemetry import TELEMETRY
from dashboards.boards.why import WHY

BOARDS = (SLO_OVERVIEW, WHY, POOLS, HAND_OFF, REQUEST, TELEMETRY)
"""Every dashboard, as linked at the top of each."""
