import { mkdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import {
  ensureHome,
  findSetting,
  type HomeLayout,
  loadConfig,
  readConfigFile,
  renderDefaultConfig,
  setConfigValue,
  writeConfig,
} from '@palyra/config';
import type { InitialisedIdentity } from '@palyra/identity';
import { visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { findHome, type Surroundings } from '../find-home.ts';
import { loadIdentity, openRecorded } from '../identity-home.ts';
import { findJournal, loadJournal, SILENT } from '../journal-home.ts';

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
    const { home, environment } = findHome(context);
    const wanted = presetOf(options['preset']);
    ensureHome(home);
    const file = ensureConfig({ home, environment }, wanted);
    mkdirSync(home.policies, { recursive: true, mode: 0o700 });
    const { config } = loadConfig({ home, environment });
    const made = await initialise(home, context);
    const { preset } = config.policy;
    return {
      json: { home: home.root, preset, config: file, ...told(made), warnings: environment.warnings },
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
      warnings: environment.warnings,
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

/** Throws `cli.preset_differs` rather than change what agents may do without being told to. */
function ensureConfig({ home, environment }: Surroundings, wanted: string | undefined): 'created' | 'kept' {
  if (readConfigFile(home.configFile).kind === 'absent') {
    const text = renderDefaultConfig();
    const chosen = wanted === undefined ? text : setConfigValue(text, 'policy.preset', wanted);
    try {
      writeConfig(home.configFile, chosen, { mode: 'create' });
      return 'created';
    } catch (error) {
      // Somebody else makes the same home at the same time; then theirs is looked at below.
      if (readConfigFile(home.configFile).kind === 'absent') throw error;
    }
  }
  const { preset } = loadConfig({ home, environment }).config.policy;
  if (wanted === undefined || wanted === preset) return 'kept';
  throw new CliError('cli.preset_differs', `This home has the preset ${preset} already.`, {
    fix: `To change it: palyra config set policy.preset ${wanted}`,
  });
}

async function initialise(home: HomeLayout, context: CommandContext): Promise<InitialisedIdentity> {
  const { place } = findJournal(context);
  const identity = await loadIdentity();
  const journal = await loadJournal();
  const create = { alsoKnown: journal.JOURNAL_MIGRATIONS };
  const made = await identity.openIdentityHome(place, { logger: SILENT, create });
  await made.close();
  const opened = await openRecorded(place, { identity, journal });
  try {
    const operator = `user:${userName()}`;
    return await identity.initialiseIdentity({ identityDirectory: home.identity, registry: opened.registry, operator });
  } finally {
    await opened.close();
  }
}

/** What the journal and questions will call the person; a name that cannot be one is left out. */
function userName(): string {
  try {
    const { username } = userInfo();
    if (/^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$/.test(username)) return username;
  } catch {
    // A user without a line in the account file, as in many containers.
  }
  return 'owner';
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
