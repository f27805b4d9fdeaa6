import { render } from 'preact';
import { App } from './app.tsx';
import { live } from './live.ts';
import { takeToken } from './token.ts';

// A file has led here once. From here on the page is asked for by itself, also when it is loaded again.
if (location.pathname !== '/') location.replace(`/${location.hash}`);
else {
  takeToken();
  addEventListener('hashchange', () => {
    if (takeToken()) live.restart();
  });
  const page = document.querySelector('#page');
  if (page !== null) render(<App />, page);
  live.start();
}
