/** What shall run. An argv from end to end: nothing here is ever read by a shell of ours. */
export interface SandboxCommand {
  /** The program first: a name, looked up on the tool's PATH, or a path. */
  readonly argv: readonly string[];
  /** Absolute; the workspace's root when absent. */
  readonly cwd?: string;
  /** The caller's variables; only those that the profile names are taken over. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A terminal instead of pipes: stdout and stderr are one stream then. `name` is its TERM. */
  readonly terminal?: { readonly rows: number; readonly columns: number; readonly name?: string };
}
