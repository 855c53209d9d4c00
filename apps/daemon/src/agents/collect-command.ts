/** The only characters of a path that no shell reads as anything else. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

export interface CollectPlaces {
  /** How the agent starts the `palyra` that its hook was told of. */
  readonly start: readonly string[];
  /** The home, or the way to palyrad in a box, where no home is to be seen. */
  readonly home: string | { readonly listener: string };
}

/**
 * What the agent's shell runs instead of its own command: a program and an id, and nothing that anybody chose. Undefined
 * where a path would have to be quoted: agents rewrite quotes, each in its own way.
 */
export function collectCommand(callId: string, { start, home }: CollectPlaces): string | undefined {
  const words =
    typeof home === 'string'
      ? [...start, 'exec', '--home', home, '--call', callId]
      : ['env', `PALYRA_LISTENER=${home.listener}`, ...start, 'exec', '--call', callId];
  return words.every((word) => PLAIN.test(word)) ? words.join(' ') : undefined;
}
