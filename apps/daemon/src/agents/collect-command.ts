/** The only characters of a path that no shell reads as anything else. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

export interface CollectPlaces {
  /** The `palyra` that the agent can start, as its hook was told. */
  readonly program: string;
  /** The home, or the way to palyrad in a box, where no home is to be seen. */
  readonly home: string | { readonly listener: string };
}

/**
 * What the agent's shell runs instead of its own command: a program and an id, and nothing that anybody chose. Undefined
 * where a path would have to be quoted: agents rewrite quotes, each in its own way.
 */
export function collectCommand(callId: string, { program, home }: CollectPlaces): string | undefined {
  if (typeof home !== 'string') {
    const said = `PALYRA_LISTENER=${home.listener}`;
    return PLAIN.test(program) && PLAIN.test(said) ? `env ${said} ${program} exec --call ${callId}` : undefined;
  }
  if (!PLAIN.test(program) || !PLAIN.test(home)) return undefined;
  return `${program} exec --home ${home} --call ${callId}`;
}
