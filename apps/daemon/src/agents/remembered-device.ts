import type { Device, Registry } from '@palyra/identity';
import type { Clock, DeviceId } from '@palyra/primitives';

/** A device that is asked for over and over, as the registry had it a moment ago. */
export interface RememberedDevice {
  /**
   * At most a second old, and older than no change that was told. One that does not count is never remembered. Throws what
   * the registry throws.
   */
  find(id: DeviceId): Promise<Device | undefined>;
  close(): void;
}

export interface RememberedDeviceDeps {
  readonly registry: Pick<Registry, 'find' | 'watch'>;
  readonly clock: Clock;
}

interface Known {
  readonly device: Device;
  /** When the registry was asked. */
  readonly askedAt: number;
}

/** What is older is not believed: the registry is asked, and waited for. */
const FRESH_MS = 750;
const RECHECK_MS = 400;
/** So long it is kept fresh after somebody wanted it: an agent thinks between its tools. */
const WANTED_MS = 5 * 60_000;

/**
 * SECURITY: T-35 — forgotten when a change of the registry is told, by this or by another process, and asked for again all the
 * time besides: a notice can be lost with the connection that carried it. Resolves when every later change will be heard.
 */
export async function rememberDevice({ registry, clock }: RememberedDeviceDeps): Promise<RememberedDevice> {
  const closing = new AbortController();
  let known: Known | undefined;
  let changes = 0;
  let wantedAt = 0;
  let isKeptFresh = false;

  const ask = async (id: DeviceId): Promise<Device | undefined> => {
    const [askedAt, before] = [clock.now(), changes];
    const device = await registry.find(id);
    // SECURITY: T-35 — also of what is still being read: it may be of before the revocation.
    if (device === undefined || device.revoked !== null) forget();
    // SECURITY: T-35 — what was asked for before a change was told may be of before the change.
    else if (before === changes) known = { device, askedAt };
    return device;
  };
  const keepFresh = async (): Promise<void> => {
    if (isKeptFresh) return;
    isKeptFresh = true;
    while (!closing.signal.aborted && isWithin(WANTED_MS, wantedAt, clock)) {
      await clock.sleep(RECHECK_MS, closing.signal).catch(() => undefined);
      if (known !== undefined && !closing.signal.aborted) await ask(known.device.id).catch(forget);
    }
    isKeptFresh = false;
  };
  const forget = () => {
    known = undefined;
    changes += 1;
  };
  const subscription = await registry.watch(forget);

  return {
    async find(id) {
      wantedAt = clock.now();
      if (known?.device.id === id && isWithin(FRESH_MS, known.askedAt, clock)) return known.device;
      const device = await ask(id);
      void keepFresh();
      return device;
    },
    close() {
      closing.abort('over');
      subscription.close();
      known = undefined;
    },
  };
}

/** A clock that was set back makes nothing younger. */
function isWithin(ms: number, since: number, { now }: Pick<Clock, 'now'>): boolean {
  const age = now() - since;
  return age >= 0 && age < ms;
}
