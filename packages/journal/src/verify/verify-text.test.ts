import { expect, test } from 'vitest';
import { nodeCrypto } from '../node-crypto.ts';
import { verifyText } from './verify-text.ts';

const OPTIONS = { crypto: nodeCrypto, pins: { witnesses: [], checkpoints: [] } };
const ROOT = 'palyra-root+00000000+AAAA';

test.each([
  ['nothing', ''],
  ['another text', 'hello\n'],
  ['another JSON', '{"format":"other"}\n'],
  ['a list', '[1,2]\n'],
  ['a line of an export that is not the first', '{"entries":0,"size":0,"type":"end"}\n'],
  [
    'a header with a bad key',
    `{"base":{"frontier":[],"previous":"${'0'.repeat(64)}","size":0},"bodies":true,"end":0,` +
      `"format":"palyra.export/1","keys":[],"kind":"range","origin":"palyra/x","root_key":"${ROOT}","type":"header"}\n`,
  ],
])('%s is neither a bundle nor an export', async (_name, text) => {
  await expect(verifyText(text, OPTIONS)).rejects.toMatchObject({ code: 'journal.invalid_export' });
  await expect(verifyText(() => text.split(/(?=a)/), OPTIONS)).rejects.toMatchObject({
    code: 'journal.invalid_export',
  });
});
