import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { namesAnotherServer, serverPlaces } from '@palyra/agents';

export interface ServerQuestion {
  /** The agent's program, as its hook names it. */
  readonly client: string;
  /** The `palyra` that the agent can start. */
  readonly program: string;
  /** Where the agent works, and the workspace that this is in. */
  readonly directories: readonly string[];
}

export interface ForeignServers {
  /** Whether a server that is not ours may have our name with this agent. Does not throw: what cannot be read may have. */
  hasOurName(question: ServerQuestion): Promise<boolean>;
}

/** Settings of agents grow to megabytes; each is read again when it has changed. */
export function createForeignServers({ userHome }: { readonly userHome: string }): ForeignServers {
  const known = new Map<string, { readonly stamp: string; readonly isForeign: boolean }>();
  const isForeign = async (path: string, program: string): Promise<boolean> => {
    const found = await stat(path).catch(absentOnly);
    if (found === undefined) return false;
    const stamp = [found.dev, found.ino, found.size, found.mtimeMs, found.ctimeMs, program].join();
    const before = known.get(path);
    if (before?.stamp === stamp) return before.isForeign;
    const text = await readFile(path, 'utf8');
    const judged = namesAnotherServer({ path, text }, [program, 'mcp', 'serve']);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(path, { stamp, isForeign: judged });
    return judged;
  };
  return {
    async hasOurName({ client, program, directories }) {
      const { ofUser, ofProject } = serverPlaces(client);
      const paths = [
        ...ofUser.map((path) => join(userHome, path)),
        ...directories.flatMap((directory) => ofProject.map((path) => join(directory, path))),
      ];
      const all = await Promise.all([...new Set(paths)].map((path) => isForeign(path, program).catch(() => true)));
      return all.includes(true);
    },
  };
}

const MOST_KNOWN = 256;

function absentOnly(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR'].includes(Object(error).code)) return undefined;
  throw error;
}
