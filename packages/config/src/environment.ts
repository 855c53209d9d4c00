import { visibleText } from '@palyra/primitives';
import { ConfigError } from './config-error.ts';
import { checkHomePath } from './home-layout.ts';
import { LOG_LEVELS, type LogThreshold } from './log-levels.ts';
import { nearestName } from './nearest-name.ts';

/** The environment chooses the home and the log level, and nothing else: what is enforced must not depend on it. */
export interface Environment {
  readonly home: string | undefined;
  readonly logLevel: LogThreshold | undefined;
  /** One sentence for each `PALYRA_…` variable that is set and that nothing reads. */
  readonly warnings: readonly string[];
}

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

const PREFIX = 'PALYRA_';
const HOME = 'PALYRA_HOME';
const LOG = 'PALYRA_LOG';
const READ = [HOME, LOG];

/** Throws `config.invalid_environment`. Takes the variables as a value: only a program's edge touches `process.env`. */
export function readEnvironment(variables: EnvironmentVariables): Environment {
  return { home: readHome(variables[HOME]), logLevel: readLogLevel(variables[LOG]), warnings: listIgnored(variables) };
}

function readHome(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (value === '') throw invalid(HOME, 'is set but empty', `Unset ${HOME}, or give it an absolute path.`);
  try {
    return checkHomePath(value);
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    throw invalid(HOME, `cannot be used: ${thrown.message.replace(/\.$/, '')}`, thrown.fix ?? `Unset ${HOME}.`);
  }
}

function readLogLevel(value: string | undefined): LogThreshold | undefined {
  if (value === undefined) return undefined;
  const level = LOG_LEVELS.find((known) => known === value);
  if (level !== undefined) return level;

  const nearest = nearestName(value, LOG_LEVELS);
  const hint = nearest === undefined ? `Unset ${LOG}, or give it one of these.` : `Did you mean "${nearest}"?`;
  throw invalid(
    LOG,
    `must be one of ${LOG_LEVELS.join(', ')}, but is "${visibleText(value, { maxCharacters: 60 })}"`,
    hint,
  );
}

/** Names only: a value may be a secret that was meant for another program. */
function listIgnored(variables: EnvironmentVariables): readonly string[] {
  const names = Object.keys(variables).filter((name) => name.toUpperCase().startsWith(PREFIX) && !READ.includes(name));
  return names.toSorted().map((name) => {
    // Without the prefix, which makes any two of our names look alike.
    const nearest = nearestName(
      name.slice(PREFIX.length),
      READ.map((known) => known.slice(PREFIX.length)),
    );
    const hint = nearest === undefined ? `Only ${READ.join(' and ')} are read.` : `Did you mean ${PREFIX}${nearest}?`;
    return `The environment variable ${visibleText(name)} is ignored. ${hint}`;
  });
}

function invalid(name: string, sentence: string, fix: string): ConfigError {
  return new ConfigError('config.invalid_environment', `The environment variable ${name} ${sentence}.`, { fix });
}
