import { mkdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import {
  ensureHome,
  type HomeLayout,
  loadConfig,
  readConfigFile,
  renderDefaultConfig,
  setConfigValue,
  writeConfig,
} from '@palyra/config';
import type { InitialisedIdentity } from '@palyra/identity';
import { CliError } from './cli-error.ts';
import type { CommandContext } from './command.ts';
import { findHome, type Surroundings } from './find-home.ts';
import { loadIdentity, openRecorded } from './identity-home.ts';
import { findJournal, loadJournal, SILENT } from './journal-home.ts';

export interface MadeHome extends InitialisedIdentity {
  readonly home: HomeLayout;
  readonly preset: string;
  readonly config: 'created' | 'kept';
  readonly warnings: readonly string[];
}

/**
 * Settings, authority and the two credentials: what is there stays as it is. Throws `cli.preset_differs` rather than change
 * what agents may do without being told to.
 */
export async function makeHome(context: CommandContext, wanted?: string): Promise<MadeHome> {
  const { home, environment } = findHome(context);
  ensureHome(home);
  const file = ensureConfig({ home, environment }, wanted);
  mkdirSync(home.policies, { recursive: true, mode: 0o700 });
  const { config } = loadConfig({ home, environment });
  const made = await initialise(home, context);
  return { ...made, home, preset: config.policy.preset, config: file, warnings: environment.warnings };
}

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
  let opened = await identity.openIdentityHome(place, { logger: SILENT, create });
  if (journal.hadLog(place)) {
    await opened.close();
    opened = await openRecorded(place, { identity, journal });
  }
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
