import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { asOperator } from '../identity-home.ts';
import { pickById } from '../pick-id.ts';
import { tokenAsJson } from '../token-output.ts';

/** From the next request on. */
export const tokenRevoke: CommandDefinition = {
  name: 'token revoke',
  group: 'Identity',
  summary: 'Make a token worthless',
  details:
    'From the next request on, on every node. Devices that an enrolment token let in stay: revoke those by themselves. ' +
    'Needs the role operator.',
  arguments: [{ name: 'TOKEN', summary: 'Its id, or the last 4 or more characters', isRequired: true }],
  async run({ arguments: [typed = ''] }, context) {
    return asOperator(context, 'operator', async ({ registry, identity, home, operator, warnings }) => {
      const tokens = identity.openTokens({ registry, authority: identity.openAuthority(home.identity) });
      const { id } = pickById(await tokens.list(), typed, { what: 'token', list: 'palyra token list' });
      const token = await tokens.revoke({ token: id, by: operator.principal });
      return {
        json: { token: tokenAsJson(token) },
        render: () => `Revoked the token ${visibleText(token.name)} (${id}).\n`,
        warnings,
      };
    });
  },
};
