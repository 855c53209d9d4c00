import type { Config } from '@palyra/config';
import { type ListenPlace, placeOf } from './listen-place.ts';

export interface ListenPlaces {
  readonly api: ListenPlace;
  readonly tokens: ListenPlace | undefined;
  readonly console: ListenPlace | undefined;
  readonly pairing: ListenPlace;
}

/** Before anything is opened. Throws `daemon.public_bind`. */
export function listenPlaces(daemon: Config['daemon']): ListenPlaces {
  const remote = daemon.allow_remote ? 'allowed' : 'not allowed';
  const local = (setting: 'token_listen' | 'console') =>
    // SECURITY: T-36, T-37 — without certificates of both sides, for this host alone, whatever the operator allows.
    daemon[setting] === '' ? undefined : placeOf(daemon[setting], { setting: `daemon.${setting}`, remote: 'never' });
  return {
    api: placeOf(daemon.listen, { setting: 'daemon.listen', remote }),
    tokens: local('token_listen'),
    console: local('console'),
    pairing: placeOf(daemon.pairing_listen, { setting: 'daemon.pairing_listen', remote }),
  };
}
