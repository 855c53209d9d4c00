import { expect, test } from 'vitest';
import { qrCodeOf, renderQrCode } from './qr-code.ts';
import { safeText } from './safe-text.ts';

test('squares become half blocks with a light margin', () => {
  expect(renderQrCode({ size: 2, data: [1, 0, 0, 1] })).toBe('██████\n██▄▀██\n██████\n');
});

test('a join URL fits a terminal, and passes for what may be printed', async () => {
  const url = `palyra://[2001:db8:1111:2222:3333:4444:5555:6666]:65535/join/${'0'.repeat(26)}?ca=${'a'.repeat(43)}#${'b'.repeat(22)}`;
  const text = await qrCodeOf(url);
  const lines = text.trimEnd().split('\n');
  expect([lines.length <= 27, Math.max(...lines.map((line) => line.length)) <= 60]).toEqual([true, true]);
  expect(safeText(text)).toBe(text);
});
