import { listModules, type ModuleManifest, readModule } from '@palyra/config';
import { describeError, visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { findHome } from '../find-home.ts';
import { renderTable } from '../render/table.ts';

export const moduleList: CommandDefinition = {
  name: 'module list',
  group: 'Agents',
  summary: 'List the WebAssembly modules and their grants',
  async run(_input, context) {
    const { home } = findHome(context);
    const modules = await Promise.all((await listModules(home.modules)).map((name) => looked(home.modules, name)));
    const rows = modules.map(({ module, sha256 = '', grants, problem }) => [
      visibleText(module),
      sha256.slice(0, 12),
      problem === undefined ? shownGrants(grants) : visibleText(problem),
    ]);
    return {
      json: { modules },
      render: (paint) =>
        rows.length === 0
          ? 'There is none yet: palyra module add NAME FILE\n'
          : renderTable(['MODULE', 'SHA-256', 'MAY REACH'], rows, { paint, columns: context.columns() }),
    };
  },
};

interface Looked extends Partial<Pick<ModuleManifest, 'sha256' | 'description' | 'grants' | 'limits'>> {
  readonly module: string;
  /** Why it would be refused. */
  readonly problem?: string;
}

async function looked(directory: string, name: string): Promise<Looked> {
  try {
    const { manifest } = await readModule(directory, name);
    const { sha256, description, grants, limits } = manifest;
    return { module: name, sha256, description, grants, limits };
  } catch (error) {
    return { module: name, problem: describeError(error).message };
  }
}

function shownGrants(grants: ModuleManifest['grants'] | undefined): string {
  if (grants === undefined) return '';
  const words = [
    ...(['now', 'random', 'kv', 'emit'] as const).filter((name) => grants[name]),
    ...grants.http.map((host) => `http=${host}`),
    ...grants.secrets.map((name) => `secret=${name}`),
    ...Object.keys(grants.environment).map((name) => `env=${name}`),
    ...(grants.files === '' ? [] : [`files=${grants.files}`]),
    ...grants.scratch.map((path) => `scratch=${path}`),
  ];
  return words.length === 0 ? 'nothing' : visibleText(words.join(' '));
}
