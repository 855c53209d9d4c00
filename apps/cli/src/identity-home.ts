import type { HomeLayout } from '@palyra/config';
import type {
  CommitIdentity,
  Device,
  IdentityReader,
  OpenedIdentityHome,
  Peer,
  Registry,
  Role,
} from '@palyra/identity';
import type { HomeJournal } from '@palyra/journal';
import type { CommandContext } from './command.ts';
import { findJournal, type JournalModule, loadJournal, SILENT } from './journal-home.ts';

export type IdentityModule = typeof import('@palyra/identity');

/** For one command that looks; palyrad need not run. Throws `identity.not_initialised`, `StorageError`. */
export async function readingIdentity<Result>(
  context: CommandContext,
  act: (reader: IdentityReader, warnings: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const { place, warnings } = findJournal(context);
  const identity = await loadIdentity();
  const reader = await identity.readIdentityHome(place);
  try {
    return await act(reader, warnings);
  } finally {
    await reader.close();
  }
}

export interface OperatorContext {
  readonly home: HomeLayout;
  readonly registry: Registry;
  readonly identity: IdentityModule;
  readonly warnings: readonly string[];
  /** The operator of this home, by the key in it. */
  readonly operator: Pick<Peer, 'principal' | 'kind' | 'device' | 'roles'>;
}

/**
 * For one command that changes something, with the operator's own credential; what it changes is in the journal, where
 * there is one. Throws `identity.not_permitted`.
 */
export async function asOperator<Result>(
  context: CommandContext,
  role: Role,
  act: (found: OperatorContext) => Promise<Result>,
): Promise<Result> {
  const { close, ...found } = await openAsOperator(context, role);
  try {
    return await act(found);
  } finally {
    await close();
  }
}

/** The same for as long as somebody needs it. */
export async function openAsOperator(
  context: CommandContext,
  role: Role,
): Promise<OperatorContext & { close(): Promise<void> }> {
  const { home, place, warnings } = findJournal(context);
  const identity = await loadIdentity();
  const journal = await loadJournal();
  const credential = identity.openOperatorCredential(home.identity);
  const { registry, close } = await openRecorded(place, { identity, journal });
  try {
    const device = await registry.find(credential.device);
    // SECURITY: T-36 — the key, and not the name on the file beside it: one that was replaced is nobody's any more.
    const isTheirs = device?.kind === 'operator' && Buffer.from(device.publicKey).equals(credential.key.publicKey);
    const operator = requireRole(isTheirs ? device : undefined, role, identity);
    return { home, registry, identity, warnings, operator, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Modules {
  readonly identity: IdentityModule;
  readonly journal: JournalModule;
}

/** The journal's own connection, so that a change and its entry are one unit; a home without a log has neither. */
export async function openRecorded(place: HomeJournal, { identity, journal }: Modules): Promise<OpenedIdentityHome> {
  if (!journal.hadLog(place)) return identity.openIdentityHome(place, { logger: SILENT });
  const writer = await journal.openHomeForWriting(place, SILENT);
  const commit = recordIn(writer.journal, { identity, journal });
  return { registry: identity.registryOn(writer.database, { commit }), close: () => writer.close() };
}

type JournalOfHome = Awaited<ReturnType<JournalModule['openHomeForWriting']>>['journal'];

function recordIn(log: JournalOfHome, { identity, journal: { parseActor } }: Modules): CommitIdentity {
  return async ({ steps, notifications = [] }, events) => {
    const [first] = events;
    const drafts = events.map(identity.identityEntryOf);
    const outcome = await log.append(parseActor(first?.by ?? ''), drafts, { steps, notifications });
    return outcome.kind === 'appended' ? { kind: 'committed' } : { kind: 'conflict', step: outcome.step };
  };
}

/** SECURITY: T-36 — the key in the home says who is asking, and the registry what they may; neither the user id nor a flag. */
function requireRole(
  device: Device | undefined,
  role: Role,
  { IdentityError }: IdentityModule,
): OperatorContext['operator'] {
  if (device === undefined || device.revoked !== null || !device.roles.includes(role)) {
    throw new IdentityError(
      'identity.not_permitted',
      `This needs a device with the role ${role} that was not revoked.`,
      {
        fix: 'Ask somebody who has it: `palyra device list` shows who.',
      },
    );
  }
  const { principal, kind, id, roles } = device;
  return { principal, kind, device: id, roles };
}

/** Late, because it brings the databases along. */
export async function loadIdentity(): Promise<IdentityModule> {
  return import('@palyra/identity');
}
