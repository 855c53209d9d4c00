import type { CommandDefinition } from '../command.ts';
import { log } from './log.ts';

/** For scripts, the same as `palyra log RUN`. */
export const runsShow: CommandDefinition = {
  name: 'runs show',
  group: 'Agents',
  summary: 'Show one run and its calls',
  arguments: [{ name: 'RUN', summary: 'Its id, or the last 4 characters or more', isRequired: true }],
  run: (input, context) => log.run({ ...input, options: {} }, context),
};
