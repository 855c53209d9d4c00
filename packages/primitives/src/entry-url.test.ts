import { expect, test } from 'vitest';
import { entryUrl } from './entry-url.ts';

test('a source finds the source beside it and a compiled file the compiled one', () => {
  const urls = [
    entryUrl('file:///app/src/main.ts', './writer-thread').href,
    entryUrl('file:///app/dist/main.js', './writer-thread').href,
  ];
  expect(urls).toEqual(['file:///app/src/writer-thread.ts', 'file:///app/dist/writer-thread.js']);
});
