import type { Caller } from '@palyra/gateway';
import { type AgentCertificate, assuranceOf, groupsOf } from '@palyra/identity';
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
export async function localAgent({ certificate: read, devices, clock, separation }: LocalAgentDeps): Promise<Caller> {
  const { device: id, notAfter } = read();
  const device = await devices.find(id);
  if (device === undefined || device.revoked !== null || device.kind !== 'agent' || clock.now() >= notAfter) {
    throw new DaemonError('daemon.not_authenticated', 'The agent of this home does not count any more.', {
      fix: 'palyra init makes it a new certificate; palyra device list shows what there is.',
    });
  }
  const { principal, kind, roles } = device;
  const certificate = { fingerprint: '', notAfter };
  const peer = { principal, kind, device: device.id, roles, groups: groupsOf(roles), assurance: assuranceOf(device) };
  return callerOf({ ...peer, certificate, via: 'certificate' }, { coverage: 'hooked', separation });
}
