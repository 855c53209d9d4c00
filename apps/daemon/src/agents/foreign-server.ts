import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { namesAnotherServer, serverPlaces, upwards } from '@palyra/agents';
import type { CollectPlaces } from './collect-command.ts';

export interface ServerQuestion {
  /** The agent's program, as its hook names it. */
  readonly client: string;
  /** The `palyra` that the agent can start. */
  readonly program: string;
  /** Where the agent works. */
  readonly cwd: string;
  /** The workspace that this is in. */
  readonly root: string;
}

export interface ForeignServers {
  /** Whether a server that is not ours may have our name with this agent. Does not throw: what cannot be read may have. */
  hasOurName(question: ServerQuestion): Promise<boolean>;
}

export interface ForeignServersDeps {
  /** Whose home the agents' settings are in. */
  readonly userHome: string;
  /** Palyra's own. */
  readonly home?: CollectPlaces['home'];
  /** A file below the user's home as this agent sees it, where that is not as it is. */
  asShown?(client: string, path: string, text: string): string;
}

/** Settings of agents grow to megabytes; each is read again when it has changed. */
export function createForeignServers({ userHome, home, asShown }: ForeignServersDeps): ForeignServers {
  const served = ['mcp', 'serve', ...(typeof home === 'string' ? ['--home', home] : [])];
  const known = new Map<string, { readonly stamp: string; readonly isForeign: boolean }>();
  const isForeign = async (path: string, { client, program, isProjects }: Asking): Promise<boolean> => {
    // SECURITY: T-39 — a pipe in its place would have us wait for whoever writes into it, with one of a few threads.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(absentOnly);
    if (file === undefined) return false;
    const found = await file.stat();
    if (!found.isFile() || found.size > LONGEST) throw new Error('No settings are as long.');
    const stamp = [found.dev, found.ino, found.size, found.mtimeMs, found.ctimeMs, client, program, isProjects].join();
    const before = known.get(path);
    if (before?.stamp === stamp) return before.isForeign;
    // As long as it was said to be: it may have grown since.
    const { buffer, bytesRead } = await file.read(Buffer.alloc(found.size), 0, found.size, 0);
    const whole = buffer.toString('utf8', 0, bytesRead);
    const text = isProjects ? whole : (asShown?.(client, relative(userHome, path), whole) ?? whole);
    const judged = namesAnotherServer({ path, text }, [program, ...served]);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(path, { stamp, isForeign: judged });
    return judged;
  };
  return {
    async hasOurName({ client, program, cwd, root }) {
      const { ofUser, ofProject } = serverPlaces(client);
      // SECURITY: T-38 — agents look into each directory above, also above the workspace; in a box there is nothing above it.
      const above = upwards(cwd).filter((each) => asShown === undefined || each.startsWith(`${root}/`));
      const ofProjects = new Set(
        [...above, root].flatMap((directory) => ofProject.map((path) => join(directory, path))),
      );
      const paths = new Set([...ofUser.map((path) => join(userHome, path)), ...ofProjects]);
      const all = await Promise.all(
        [...paths].map((path) =>
          isForeign(path, { client, program, isProjects: ofProjects.has(path) }).catch(() => true),
        ),
      );
      return all.includes(true);
    },
  };
}

interface Asking extends Pick<ServerQuestion, 'client' | 'program'> {
  /** Then it is seen as it is. */
  readonly isProjects: boolean;
}

const LONGEST = 64 * 1024 * 1024;
const MOST_KNOWN = 256;

function absentOnly(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR'].includes(Object(error).code)) return undefined;
  throw error;
}
