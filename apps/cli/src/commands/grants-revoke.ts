import type { CommandDefinition } from '../command.ts';
import { withDaemon } from '../reach-daemon.ts';

export const grantsRevoke: CommandDefinition = {
  name: 'grants revoke',
  group: 'Questions',
  summary: 'End a standing approval, or remove a rule',
  arguments: [{ name: 'ID', summary: 'As palyra grants list has it', isRequired: true }],
  options: [{ flags: '--reason <TEXT>', summary: 'Why; for the record' }],
  async run({ arguments: [id = ''], options }, context) {
    return withDaemon(context, 'operator', async ({ client }) => {
      const rule = (await client.policies.rules()).find(({ rule_id: each }) => each === id);
      if (rule !== undefined) {
        await client.policies.removeRule(id);
        return { json: { rule_id: id, state: 'removed' }, render: () => `The rule ${id} is gone.\n` };
      }
      const { reason } = options;
      const state = await client.grants.revoke(id, typeof reason === 'string' ? reason : '');
      return { json: { grant_id: id, state }, render: () => `It is ${state}.\n` };
    });
  },
};
