import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type HookSwitch, pathsOf, upwards } from '@palyra/agents';
import type { CommandContext } from '../command.ts';
import { readSettings } from './client-files.ts';

/** Where an agent's hooks are switched off, and by what. */
export interface FoundSwitch {
  readonly path: string;
  /** Undefined: the settings cannot be read. */
  readonly why: string | undefined;
}

/** In any of the settings that the agent reads when it is started here. SECURITY: T-58 — what cannot be read may do so, too. */
export function findSwitch({ places, whyOff }: HookSwitch, context: CommandContext): FoundSwitch | undefined {
  const directories = upwards(context.workingDirectory());
  const paths = pathsOf(places, { directories, userHome: context.userHome() });
  for (const path of paths.flatMap(filesAt)) {
    try {
      const text = readSettings(path);
      const why = text === undefined ? undefined : whyOff(text);
      if (why !== undefined) return { path, why };
    } catch {
      return { path, why: undefined };
    }
  }
  return undefined;
}

/** `DIRECTORY/*.ENDING`: each of them that there is. */
function filesAt(path: string): readonly string[] {
  if (!basename(path).startsWith('*')) return [path];
  try {
    const names = readdirSync(dirname(path)).filter((name) => name.endsWith(basename(path).slice(1)));
    return names.map((name) => join(dirname(path), name));
  } catch (error) {
    // A directory that is there and cannot be read comes back as a file that cannot be.
    return ['ENOENT', 'ENOTDIR'].includes(Object(error).code) ? [] : [dirname(path)];
  }
}
