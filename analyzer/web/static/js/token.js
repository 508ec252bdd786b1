// A pdscope that listens beyond loopback asks for a token; it is kept for this tab only.

import { setToken } from './api.js';
import { h } from './dom.js';

/** @param retry called once a token was entered */
export function askToken(container, error, retry) {
  if (container.querySelector('#token')) return;
  const field = h('input', { type: 'password', id: 'token', autocomplete: 'off', required: true });
  const use = (event) => {
    event.preventDefault();
    setToken(field.value);
    container.replaceChildren();
    retry();
  };
  container.replaceChildren(h('form', { class: 'ask-token', onsubmit: use },
    h('p', {}, `This pdscope asks for a token: ${error.message}`), h('label', { for: 'token' }, 'Token'), field, h('button', {}, 'Use for this tab')));
}
