import { isAbsolute } from 'node:path';
import { type Actor, type Journal, parseActor } from '@palyra/journal';
import { type Clock, createIdSource, type IdSource, parseId, systemClock, type WorkspaceId } from '@palyra/primitives';
import type { WorkspaceLook } from '@palyra/sandbox';
import { type Database, statement } from '@palyra/storage';
import { GatewayError } from '../gateway-error.ts';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import type { Workspace } from '../tool-call/proposed-call.ts';
import type { WorkspaceRow } from './workspaces-schema.ts';

/** A folder that agents may work in. */
export interface RegisteredWorkspace extends Workspace {
  readonly id: WorkspaceId;
  readonly addedBy: Actor;
  readonly addedAt: number;
}

/** The folders that agents may work in. Whoever proposes a call works in one of them, and in nothing else. */
export interface Workspaces {
  /** A path with links is registered as what it leads to. Throws `gateway.unsafe_workspace`. */
  add(input: {
    readonly path: string;
    readonly by: Actor;
  }): Promise<{ readonly workspace: RegisteredWorkspace; readonly isNew: boolean }>;
  /** By path. */
  list(): Promise<readonly RegisteredWorkspace[]>;
  /** By id or path; no new run begins there. Throws `gateway.workspace_not_found`. */
  remove(input: { readonly workspace: string; readonly by: Actor }): Promise<RegisteredWorkspace>;
  /**
   * The one of this id, or that holds this path, the innermost; of an empty text the only one. Throws
   * `gateway.workspace_not_found`, `gateway.workspace_ambiguous`, and `gateway.unsafe_workspace` for one that has become so.
   */
  resolve(text: string): Promise<RegisteredWorkspace>;
}

export interface WorkspacesDeps {
  /** Opened with `GATEWAY_MIGRATIONS`. */
  readonly database: Database<GatewaySchema>;
  readonly journal: Pick<Journal, 'append' | 'bodies'>;
  /** Names this palyrad: a path is of its host. */
  readonly owner: string;
  /** Its real path, or why it cannot be a workspace. */
  look(path: string): WorkspaceLook | Promise<WorkspaceLook>;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

export function openWorkspaces(deps: WorkspacesDeps): Workspaces {
  const { database, journal, owner, look, clock = systemClock } = deps;
  const ids = deps.ids ?? createIdSource({ now: clock.now });

  const read = async (): Promise<readonly RegisteredWorkspace[]> => {
    const rows = database.read.selectFrom('gateway_workspaces').selectAll().where('owner', '=', owner);
    return (await rows.orderBy('root').execute()).map(workspaceOf);
  };
  /** Each hook of an agent asks. Nobody else writes rows of this owner, so they are read again only after they were written here. */
  let kept: Promise<readonly RegisteredWorkspace[]> | undefined;
  const forget = () => {
    kept = undefined;
  };
  const list = (): Promise<readonly RegisteredWorkspace[]> => {
    if (kept !== undefined) return kept;
    const reading = read();
    kept = reading;
    reading.catch(() => kept === reading && forget());
    return reading;
  };
  /** One commit with its entry; whether it took place or not, what was read before does not count any more. */
  const write = async (
    by: Actor,
    draft: Parameters<Journal['append']>[1][number],
    step: Parameters<typeof statement>[0],
  ) => {
    try {
      return await journal.append(by, [draft], { steps: [statement(step, { rows: 1 })] });
    } finally {
      forget();
    }
  };
  const record = async (change: 'added' | 'removed', { id, root }: Workspace) => ({
    kind: 'workspace.changed' as const,
    data: { workspace_id: id, change, root: await journal.bodies.prepare(root) },
  });

  return {
    list,
    async add({ path, by }) {
      // SECURITY: T-41 — before it is on the list: a folder that holds a home, our own state or the whole disk never is.
      const root = requireSafe(isAbsolute(path) ? await look(path) : NOT_ABSOLUTE);
      const known = (await list()).find((each) => each.root === root);
      if (known !== undefined) return { workspace: known, isNew: false };
      const row: WorkspaceRow = { id: ids.newId('workspace'), owner, root, added_by: by, added_at: clock.now() };
      const insert = database.write
        .insertInto('gateway_workspaces')
        .values(row)
        .onConflict((conflict) => conflict.columns(['owner', 'root']).doNothing());
      const draft = await record('added', row);
      const outcome = await write(by, draft, insert);
      if (outcome.kind === 'appended') return { workspace: workspaceOf(row), isNew: true };
      // Somebody else registered it at this moment.
      const theirs = (await list()).find((each) => each.root === root);
      if (theirs === undefined) throw notFound();
      return { workspace: theirs, isNew: false };
    },
    async remove({ workspace: text, by }) {
      const found = await find(text, await list(), (path) => look(path));
      if (found === undefined) throw notFound();
      const drop = database.write.deleteFrom('gateway_workspaces').where('id', '=', found.id);
      const draft = await record('removed', found);
      const outcome = await write(by, draft, drop);
      if (outcome.kind === 'conflict') throw notFound();
      return found;
    },
    async resolve(text) {
      const all = await list();
      const found = text === '' ? onlyOne(all) : await innermost(text, all, (path) => look(path));
      if (found === undefined) throw notFound(text);
      // SECURITY: T-41, T-14 — looked at again: since then somebody may have put a link in its place, or a home around it.
      if (requireSafe(await look(found.root)) !== found.root) throw moved();
      return found;
    },
  };
}

type Look = WorkspacesDeps['look'];

function workspaceOf({ id, root, added_by, added_at }: WorkspaceRow): RegisteredWorkspace {
  return { id: parseId('workspace', id), root, addedBy: parseActor(added_by), addedAt: added_at };
}

/** By id, by the path as it was registered, or by what the path leads to. */
async function find(
  text: string,
  all: readonly RegisteredWorkspace[],
  look: Look,
): Promise<RegisteredWorkspace | undefined> {
  const exact = byName(text, all);
  if (exact !== undefined || !isAbsolute(text)) return exact;
  const seen = await look(text);
  return seen.kind === 'ok' ? all.find(({ root }) => root === seen.root) : undefined;
}

/** SECURITY: T-41 — what the caller names only chooses among the registered ones. */
async function innermost(
  text: string,
  all: readonly RegisteredWorkspace[],
  look: Look,
): Promise<RegisteredWorkspace | undefined> {
  const exact = byName(text, all);
  if (exact !== undefined || !isAbsolute(text)) return exact;
  const seen = await look(text);
  const path = seen.kind === 'ok' ? seen.root : withoutSlash(text);
  if (path.split('/').includes('..')) return undefined;
  const around = all.filter(({ root }) => path === root || path.startsWith(`${root}/`));
  return around.toSorted((left, right) => right.root.length - left.root.length)[0];
}

function byName(text: string, all: readonly RegisteredWorkspace[]): RegisteredWorkspace | undefined {
  return all.find(({ id, root }) => id === text || root === withoutSlash(text));
}

function onlyOne(all: readonly RegisteredWorkspace[]): RegisteredWorkspace | undefined {
  if (all.length <= 1) return all[0];
  throw new GatewayError('gateway.workspace_ambiguous', 'There are several workspaces, and which one is not said.', {
    fix: 'Name one: `palyra workspace list` shows them.',
  });
}

function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}

const NOT_ABSOLUTE: WorkspaceLook = {
  kind: 'refused',
  message: 'The workspace is not an absolute path.',
  fix: 'Name the directory of one project.',
};

function requireSafe(seen: WorkspaceLook): string {
  if (seen.kind === 'ok') return seen.root;
  throw new GatewayError('gateway.unsafe_workspace', seen.message, { fix: seen.fix });
}

function moved(): GatewayError {
  return new GatewayError('gateway.unsafe_workspace', 'Where the workspace was is a link to somewhere else now.', {
    fix: 'Register the folder where it is now: palyra workspace add PATH',
  });
}

function notFound(text = ''): GatewayError {
  return new GatewayError('gateway.workspace_not_found', 'There is no such workspace, or the folder is not in one.', {
    fix: isAbsolute(text)
      ? 'An operator registers it with: palyra workspace add PATH'
      : 'Register one with: palyra workspace add PATH',
  });
}
