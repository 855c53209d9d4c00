import type { Caller } from '@palyra/gateway';
import { type AgentCertificate, assuranceOf, type Device, groupsOf } from '@palyra/identity';
import type { Clock } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import { callerOf } from '../wire/caller-of.ts';
import type { RememberedDevice } from './remembered-device.ts';

export interface LocalAgentDeps {
  /** Of the local agent. */
  certificate(): AgentCertificate;
  readonly devices: Pick<RememberedDevice, 'find'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly separation: Caller['separation'];
}

/**
 * As whom the hooks of this home ask. SECURITY: T-35 — looked up for each of them: with the agent's certificate revoked or run
 * out, its hooks are refused as its connections are, a second later at most. Throws `daemon.not_authenticated`.
 */
export function createLocalAgent({
  certificate: read,
  devices,
  clock,
  separation,
}: LocalAgentDeps): () => Promise<Caller> {
  let last: { readonly device: Device; readonly notAfter: number; readonly caller: Caller } | undefined;
  return async () => {
    const { device: id, notAfter } = read();
    const device = await devices.find(id);
    if (device === undefined || device.revoked !== null || device.kind !== 'agent' || clock.now() >= notAfter) {
      throw new DaemonError('daemon.not_authenticated', 'The agent of this home does not count any more.', {
        fix: 'palyra init makes it a new certificate; palyra device list shows what there is.',
      });
    }
    // Of the very row that was found just now: between two looks into the registry it is the same one.
    if (last?.device !== device || last.notAfter !== notAfter) {
      last = { device, notAfter, caller: callerFrom(device, { notAfter, separation }) };
    }
    return last.caller;
  };
}

function callerFrom(
  device: Device,
  { notAfter, separation }: { readonly notAfter: number; readonly separation: Caller['separation'] },
): Caller {
  const { principal, kind, roles } = device;
  const certificate = { fingerprint: '', notAfter };
  const peer = { principal, kind, device: device.id, roles, groups: groupsOf(roles), assurance: assuranceOf(device) };
  return callerOf({ ...peer, certificate, via: 'certificate' }, { coverage: 'hooked', separation });
}
