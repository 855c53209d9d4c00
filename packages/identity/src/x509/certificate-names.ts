import { type DeviceId, parseId } from '@palyra/primitives';
import { type DeviceKind, isDeviceKind } from '../device-kind.ts';

/** What our certificates say about whom they are for. */

export const CLIENT_PURPOSE = '1.3.6.1.5.5.7.3.2';
export const SERVER_PURPOSE = '1.3.6.1.5.5.7.3.1';

/** In every server certificate: whoever has the authority's certificate knows by it that palyrad answers. */
export const SERVER_URI = 'palyra://server';

/** In that of a pairing listener, instead: nobody of ours takes it for palyrad. */
export const PAIRING_URI = 'palyra://pairing';

export interface DeviceNames {
  readonly device: DeviceId;
  readonly kind: DeviceKind;
}

export function deviceUris({ device, kind }: DeviceNames): readonly [string, string] {
  return [`palyra://device/${device}`, `palyra://kind/${kind}`];
}

const NAMES = /^URI:palyra:\/\/device\/(?<device>[0-9A-Z]{26}), URI:palyra:\/\/kind\/(?<kind>[a-z]+)$/;

/**
 * From the subject's other names as Node writes them.
 * SECURITY: T-35 — exactly these two and nothing beside them: of two devices in one certificate, two readers could take
 * different ones.
 */
export function readDeviceNames(subjectAltName: string | undefined): DeviceNames | undefined {
  const found = NAMES.exec(subjectAltName ?? '')?.groups;
  const kind = found?.['kind'];
  if (found === undefined || !isDeviceKind(kind)) return undefined;
  try {
    return { device: parseId('device', found['device']), kind };
  } catch {
    return undefined;
  }
}
