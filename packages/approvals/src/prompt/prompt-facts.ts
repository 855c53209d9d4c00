/** What would run, in the form that a person reads. */
export type ShownAction =
  | { readonly kind: 'command'; readonly argv: readonly string[] }
  /** A unified diff of what would be written. */
  | { readonly kind: 'diff'; readonly paths: readonly string[]; readonly diff: string }
  | { readonly kind: 'url'; readonly method: string; readonly url: string }
  /** Any other call: its name, and its arguments as canonical JSON. */
  | { readonly kind: 'call'; readonly name: string; readonly arguments: string }
  /** A connection that is held, of something that runs already. */
  | { readonly kind: 'connection'; readonly host: string; readonly port: number; readonly by: StartedAction };

export type StartedAction = Exclude<ShownAction, { readonly kind: 'connection' }>;

/** What is known about the call from its plan, not from anybody's words; only `agentSays` is the agent's. */
export interface PromptFacts {
  readonly action: ShownAction;
  readonly cwd: string | null;
  /** Where the workspace lies; null when the call has nothing to do with files. */
  readonly workspacePath: string | null;
  /** `host:port` of every host that the plan opens. */
  readonly hosts: readonly string[];
  /** Hosts that the operator trusts, to tell those that only look like them. */
  readonly knownHosts: readonly string[];
  readonly hasOpenNetwork: boolean;
  /** By name. */
  readonly secrets: readonly string[];
  readonly tier: 'A' | 'B' | 'C' | 'built_in' | 'client' | 'none';
  readonly outsidePaths: readonly string[];
  readonly protectedPaths: readonly string[];
  /** What the program may load by itself, and the approval does not cover. */
  readonly notBound: readonly string[];
  /** Why the agent says it wants this. */
  readonly agentSays: string | null;
}
