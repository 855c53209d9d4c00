import { findSetting } from '@palyra/config';
import type { InitialisedIdentity } from '@palyra/identity';
import { visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandDefinition } from '../command.ts';
import { makeHome } from '../make-home.ts';

/** A home to begin with. What is there already stays as it is, so it may be run again at any time. */
export const init: CommandDefinition = {
  name: 'init',
  group: 'Identity',
  summary: 'Make a home: settings, authority, two identities',
  details:
    'Makes what is missing: palyra.toml with the preset, the certificate authority of this home, and two credentials ' +
    'with keys of their own, one for you (operator) and one for agents on this host (local-agent). What an agent starts ' +
    'never reads the operator’s. Run again, it changes nothing, but renews certificates that are due. palyrad may run.',
  options: [{ flags: '--preset <NAME>', summary: 'coding (the default), locked or observe' }],
  async run({ options }, context) {
    const made = await makeHome(context, presetOf(options['preset']));
    const { home, preset, config, warnings } = made;
    return {
      json: { home: home.root, preset, config, ...told(made), warnings },
      render: (paint) => {
        const lines = [
          `${paint('title', 'Home')}         ${visibleText(home.root)}`,
          `${paint('title', 'Preset')}       ${preset}`,
          `${paint('title', 'Authority')}    ${made.authority}`,
          ...made.credentials.map(
            ({ name, device, change, notAfter }) =>
              `${paint('title', name.padEnd(13))}${change}, device ${device}, good until ${dateOf(notAfter)}`,
          ),
        ];
        return `${lines.join('\n')}\n`;
      },
      warnings,
    };
  },
};

function presetOf(typed: unknown): string | undefined {
  const choices = findSetting('policy.preset')?.choices ?? [];
  if (typed === undefined) return undefined;
  if (typeof typed === 'string' && choices.includes(typed)) return typed;
  throw new CliError('cli.invalid_option', '--preset takes the name of a preset.', {
    fix: `Give one of ${choices.join(', ')}.`,
  });
}

function told({ authority, credentials }: InitialisedIdentity): Readonly<Record<string, unknown>> {
  return {
    authority,
    credentials: credentials.map(({ name, device, kind, change, notAfter }) => ({
      name,
      device_id: device,
      kind,
      change,
      not_after: new Date(notAfter).toISOString(),
    })),
  };
}

function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
