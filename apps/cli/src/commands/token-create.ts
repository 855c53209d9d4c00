import type { NewToken } from '@palyra/identity';
import { reveal } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandDefinition } from '../command.ts';
import { asOperator, type OperatorContext } from '../identity-home.ts';
import { durationOf, wholeNumber } from '../option-values.ts';
import { tokenAsJson } from '../token-output.ts';

/** For clients that cannot do mTLS, and for fleets of devices that are let in without a person at each of them. */
export const tokenCreate: CommandDefinition = {
  name: 'token create',
  group: 'Identity',
  summary: 'Make a token for a script, an agent or a fleet',
  details:
    'Without --uses it is for access: a client sends it as a bearer token and does the --action it names, never what is ' +
    'for people or administrators. With --uses it lets so many devices of --kind in, each with a key and a certificate ' +
    'of its own. The token is printed once. It falls with the device that made it.',
  options: [
    { flags: '--kind <KIND>', summary: 'agent, operator; with --uses agent, node, service' },
    { flags: '--uses <N>', summary: 'How many devices it lets in' },
    { flags: '--action <ACTION>', summary: 'Such as tool.execute; several times', isRepeatable: true },
    { flags: '--role <ROLE>', summary: 'What devices it lets in may be', isRepeatable: true },
    { flags: '--principal <NAME>', summary: 'Whose it is, such as agent:ci' },
    { flags: '--name <NAME>', summary: 'What the list calls it' },
    { flags: '--ttl <TIME>', summary: 'How long it lives: 1h for fleets, else 30d' },
  ],
  async run({ options }, context) {
    return asOperator(context, options['uses'] === undefined ? 'operator' : 'admin', async (found) => {
      const { identity, registry, home, warnings } = found;
      const tokens = identity.openTokens({ registry, authority: identity.openAuthority(home.identity) });
      const { token, text } = await tokens.create(wantedToken(options, found));
      return {
        json: { token: tokenAsJson(token), text: reveal(text) },
        render: () => `${reveal(text)}\n`,
        warnings: [...warnings, `This is shown once. It ends ${new Date(token.expiresAt).toISOString()}.`],
      };
    });
  },
};

const HOUR_MS = 3_600_000;
const EVERYDAY_ACTIONS = ['tool.execute', 'tool.list', 'tool.get', 'run.start', 'run.read', 'run.cancel'];

function wantedToken(options: Readonly<Record<string, unknown>>, { operator }: OperatorContext): NewToken {
  const uses = wholeNumber(options['uses'], { name: '--uses', from: 1, to: 10_000 });
  const ttlMs = durationOf(options['ttl'], '--ttl') ?? (uses === undefined ? 720 * HOUR_MS : HOUR_MS);
  const kind = textOf(options['kind']) ?? 'agent';
  const prefix = kind === 'operator' ? 'user' : kind === 'agent' ? 'agent' : 'service';
  const principal = textOf(options['principal']) ?? (kind === 'operator' ? operator.principal : `${prefix}:local`);
  const shared = { name: textOf(options['name']) ?? principal, principal, ttlMs, by: operator };
  if (uses === undefined && (kind === 'agent' || kind === 'operator')) {
    const asked = options['action'] as readonly string[];
    return { ...shared, purpose: 'access', kind, actions: asked.length === 0 ? EVERYDAY_ACTIONS : asked };
  }
  if (uses !== undefined && (kind === 'agent' || kind === 'node' || kind === 'service')) {
    return { ...shared, purpose: 'enrolment', kind, uses, roles: options['role'] as readonly string[] };
  }
  throw new CliError('cli.invalid_option', 'There is no such token for this --kind.', {
    fix: 'For access give agent or operator; with --uses give agent, node or service.',
  });
}

function textOf(typed: unknown): string | undefined {
  return typeof typed === 'string' ? typed : undefined;
}
