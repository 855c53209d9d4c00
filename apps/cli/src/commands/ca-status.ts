import { authorityOutput } from '../authority-output.ts';
import type { CommandDefinition } from '../command.ts';
import { findHome } from '../find-home.ts';
import { loadIdentity } from '../identity-home.ts';

/** Looks only. */
export const caStatus: CommandDefinition = {
  name: 'ca status',
  group: 'Identity',
  summary: 'Show the authority and its roll-over',
  details: 'Which certificate authorities of this home count, and what happens to them next. palyrad need not run.',
  async run(_input, context) {
    const { home, environment } = findHome(context);
    const identity = await loadIdentity();
    const output = authorityOutput(identity.openAuthority(home.identity).trusted(), identity);
    return {
      json: { ...output.json, warnings: environment.warnings },
      render: output.render,
      warnings: environment.warnings,
    };
  },
};
