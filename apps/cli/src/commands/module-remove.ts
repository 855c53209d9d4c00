import { removeModule } from '@palyra/config';
import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { findHome } from '../find-home.ts';

export const moduleRemove: CommandDefinition = {
  name: 'module remove',
  group: 'Agents',
  summary: 'Remove a WebAssembly module',
  details: 'The next call of it is refused. What it kept under its own keys stays, for a module of the same name.',
  arguments: [{ name: 'NAME', summary: 'See palyra module list', isRequired: true }],
  async run({ arguments: [name = ''] }, context) {
    const { home } = findHome(context);
    await removeModule(home.modules, name);
    return { json: { module: name, removed: true }, render: () => `Removed ${visibleText(name)}.\n` };
  },
};
