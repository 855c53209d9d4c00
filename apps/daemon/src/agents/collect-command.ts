/** The only characters of a path that no shell reads as anything else. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

export interface CollectPlaces {
  /** How the agent starts the `palyra` that its hook was told of. */
  readonly start: readonly string[];
  /** `palyra-hook`, which does the same sooner, where it is there and of that `palyra`. */
  readonly collector?: string | undefined;
  /** The home, or the way to palyrad in a box, where no home is to be seen. */
  readonly home: string | { readonly listener: string };
}

/**
 * What the agent's shell runs instead of its own command: a program and an id. Between them, for whoever reads the agent's
 * screen and for nobody else, what the command was. Undefined where a path would have to be quoted: agents rewrite quotes,
 * each in its own way.
 */
export function collectCommand(callId: string, places: CollectPlaces, command = ''): string | undefined {
  const label = labelOf(command);
  const told = label === '' ? [] : ['--for', label];
  const forms = [...byCollector(places, told), byPalyra(places, told)].map((words) => [...words, '--call', callId]);
  return forms.find((words) => words.every((word) => PLAIN.test(word)))?.join(' ');
}

const NOT_PLAIN = /[^A-Za-z0-9@%+=:,./-]+/g;
const LONGEST_LABEL = 72;

/**
 * SECURITY: T-01 — one word of letters, digits and what no shell reads as anything else, a letter or digit first: it is the only
 * thing in the line that an agent chose.
 */
function labelOf(command: string): string {
  const plain = command.slice(0, 4 * LONGEST_LABEL).replaceAll(NOT_PLAIN, '_');
  return plain
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, LONGEST_LABEL)
    .replace(/_+$/, '');
}

function byCollector({ collector, home }: CollectPlaces, told: readonly string[]): readonly (readonly string[])[] {
  if (collector === undefined) return [];
  const place = typeof home === 'string' ? ['--home', home] : ['--listener', home.listener];
  return [[collector, 'exec', ...told, ...place]];
}

function byPalyra({ start, home }: CollectPlaces, told: readonly string[]): readonly string[] {
  return typeof home === 'string'
    ? [...start, 'exec', ...told, '--home', home]
    : ['env', `PALYRA_LISTENER=${home.listener}`, ...start, 'exec', ...told];
}
