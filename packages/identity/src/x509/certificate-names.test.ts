import { createIdSource } from '@palyra/primitives';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DEVICE_KINDS } from '../device-kind.ts';
import { deviceUris, readDeviceNames } from './certificate-names.ts';

const device = createIdSource().newId('device');

test('what is written is read', () => {
  for (const kind of DEVICE_KINDS) {
    const text = deviceUris({ device, kind })
      .map((uri) => `URI:${uri}`)
      .join(', ');
    expect(readDeviceNames(text)).toEqual({ device, kind });
  }
});

test('anything beside it, before it or after it is no name', () => {
  const good = `URI:palyra://device/${device}, URI:palyra://kind/agent`;
  const around = fc.array(fc.nat(0x10_ffff), { minLength: 1 }).map((points) => String.fromCodePoint(...points));
  fc.assert(
    fc.property(around, fc.nat(good.length), (more, at) => {
      expect(readDeviceNames(good.slice(0, at) + more + good.slice(at))).toBeUndefined();
    }),
    { numRuns: 100 },
  );
  expect(readDeviceNames(undefined)).toBeUndefined();
  expect(readDeviceNames(`${good}, DNS:localhost`)).toBeUndefined();
  expect(readDeviceNames(`${good}\n`)).toBeUndefined();
});
