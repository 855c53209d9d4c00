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
 * What the agent's shell runs instead of its own command: a program and an id, and nothing that anybody chose. Undefined
 * where a path would have to be quoted: agents rewrite quotes, each in its own way.
 */
export function collectCommand(callId: string, places: CollectPlaces): string | undefined {
  const forms = [...byCollector(places), byPalyra(places)].map((words) => [...words, '--call', callId]);
  return forms.find((words) => words.every((word) => PLAIN.test(word)))?.join(' ');
}

function byCollector({ collector, home }: CollectPlaces): readonly (readonly string[])[] {
  if (collector === undefined) return [];
  return [[collector, 'exec', ...(typeof home === 'string' ? ['--home', home] : ['--listener', home.listener])]];
}

function byPalyra({ start, home }: CollectPlaces): readonly string[] {
  return typeof home === 'string'
    ? [...start, 'exec', '--home', home]
    : ['env', `PALYRA_LISTENER=${home.listener}`, ...start, 'exec'];
}
