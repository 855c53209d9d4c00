import { systemClock, visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { readingIdentity } from '../identity-home.ts';
import { renderColumns } from '../render/table.ts';
import { tokenAsJson } from '../token-output.ts';

/** All that is known of tokens; their secrets are with those who have them. */
export const tokenList: CommandDefinition = {
  name: 'token list',
  group: 'Identity',
  summary: 'List the tokens of this home',
  details: 'Reads the database; palyrad need not run.',
  async run(_input, context) {
    return readingIdentity(context, async (reader, warnings) => {
      const tokens = await reader.tokens();
      const now = systemClock.now();
      const stateOf = (token: (typeof tokens)[number]) => {
        if (token.revokedAt !== null) return 'revoked';
        return now < token.expiresAt ? `until ${new Date(token.expiresAt).toISOString().slice(0, 16)}` : 'expired';
      };
      return {
        json: { tokens: tokens.map(tokenAsJson) },
        render: (paint) => {
          const rows = tokens.map((token) => [
            token.id,
            visibleText(token.name),
            token.usesLeft === null ? token.purpose : `${token.purpose}, ${token.usesLeft} left`,
            visibleText(token.principal),
            stateOf(token),
          ]);
          const [heading = '', ...lines] = renderColumns([['TOKEN', 'NAME', 'FOR', 'PRINCIPAL', 'STATE'], ...rows]);
          return [paint('title', heading), ...lines, ''].join('\n');
        },
        warnings,
      };
    });
  },
};
