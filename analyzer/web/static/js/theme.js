// A classic script in <head>: the stored choice is applied before the first paint, so nothing flashes.
// No choice stored: the style sheet follows prefers-color-scheme.
(() => {
  const KEY = 'pdscope.theme';
  const ORDER = ['system', 'light', 'dark'];
  const root = document.documentElement;

  function stored() {
    try {
      const value = localStorage.getItem(KEY);
      return ORDER.includes(value) ? value : 'system';
    } catch {
      return 'system'; // storage may be refused; the theme then lasts as long as the page
    }
  }

  function apply(choice) {
    if (choice === 'system') delete root.dataset.theme;
    else root.dataset.theme = choice;
    root.dispatchEvent(new CustomEvent('themechange'));
  }

  let choice = stored();
  apply(choice);

  window.pdscopeTheme = {
    get choice() { return choice; },
    next() {
      choice = ORDER[(ORDER.indexOf(choice) + 1) % ORDER.length];
      try { localStorage.setItem(KEY, choice); } catch { /* as above */ }
      apply(choice);
      return choice;
    },
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => apply(choice));
})();
