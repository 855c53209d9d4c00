import type { JsonObject } from '@palyra/primitives';
import type { AgentAnswer, AgentEvent, HookReply } from './agent-event.ts';
import type { ClientRules } from './own-rules/own-rule.ts';
import type { SettingsPlaces } from './settings-places.ts';

/** One agent that people use: everything that is known of it. Each has a folder, with a file for each of these. */
export interface AgentClient {
  readonly profile: AgentProfile;
  /** Absent: it has no hooks that could hold a call, so it is gated by MCP alone. */
  readonly hooks?: AgentHooks;
  readonly install: ClientInstall;
  readonly wrap: ClientWrap;
}

export interface AgentHooks {
  /** Throws `agents.bad_event`. */
  readEvent(message: JsonObject): AgentEvent;
  /** To what was read as this event. */
  reply(answer: AgentAnswer, event: AgentEvent): HookReply;
  /** Whether it takes another command for the one it would run. */
  readonly canRewrite: boolean;
  /** Whether it asks its user when a hook says so. */
  readonly canAsk: boolean;
  /** Of one that takes another command: what its user has forbidden, or wants to be asked about. */
  readonly rules?: ClientRules;
  /** What it says before a tool, in the name of the event: for our own canary. */
  readonly before: string;
  /** Of an agent that runs only hooks which somebody trusted: how it is asked whether it does. */
  readonly trust?: HookTrust;
  /** Of an agent whose settings can switch all hooks off, ours among them. */
  readonly switch?: HookSwitch;
}

export interface HookSwitch {
  readonly places: SettingsPlaces;
  /** What in these settings does so; undefined: nothing. Throws `agents.unknown_format`. */
  whyOff(text: string): string | undefined;
}

/** Data for whoever starts the agent's own program and asks it. */
export interface HookTrust {
  readonly argv: readonly [string, ...string[]];
  /** For its standard input, a line of JSON each. */
  questions(cwd: string): readonly JsonObject[];
  /** What a line of its standard output says of our hook's command; undefined when it is about something else. */
  read(line: string, hook: string): TrustAnswer | undefined;
}

export type TrustAnswer = { readonly kind: 'runs' } | { readonly kind: 'skips'; readonly why: string };

/** How it is set up in a box of ours, where nothing of its user's settings has to be changed for it. */
export interface ClientWrap {
  /** Absolute, below /etc: what an administrator has settled, which the agent's own settings do not undo. */
  settings(options: InstallOptions): readonly OwnFile[];
  /** Below its home, where it has no such place. */
  files?(options: InstallOptions): readonly OwnFile[];
  readonly environment?: Readonly<Record<string, string>>;
}

export interface OwnFile {
  readonly path: string;
  readonly text: string;
}

/** Facts for people, and for whoever puts the agent into a box. */
export interface AgentProfile {
  readonly name: string;
  readonly title: string;
  /** Its program. */
  readonly program: string;
  /** `host:port` that the agent itself needs: its model and its login. */
  readonly hosts: readonly string[];
  /** Below the user's home. */
  readonly state: {
    /** Its login, and what it remembers: written by it. Nothing that anybody would run outside, or read as settings. */
    readonly writable: readonly string[];
    /** Files that it has settings in and writes all the time: as they are when it starts, and what it writes is forgotten. */
    readonly copied: readonly string[];
    /** Settings, rules and instructions: read by it, and never written while it is in the box. */
    readonly readOnly: readonly string[];
  };
}

/** How it is set up. */
export interface ClientInstall {
  /** Files to change, in order; the first that is not as expected ends it. */
  edits(options: InstallOptions): readonly FileEdit[];
  /** Where it keeps its MCP servers, when none of the edits is of that file. */
  readonly servers?: ServerSettings;
  /** What a person has to do besides, a sentence each. */
  readonly afterwards: readonly string[];
}

/** One file below the user's home, which is only looked at. */
export interface ServerSettings {
  readonly path: string;
  /** Whether a server in it has our name and another command, or may have: what cannot be read counts. */
  hasAnotherOfOurName(text: string, mcpCommand: InstallOptions['mcpCommand']): boolean;
}

export interface InstallOptions {
  /** The hook's command line, which ends with the agent's blocking answer when it fails. */
  readonly hookCommand: string;
  /** How long the agent is to wait for the hook. */
  readonly timeoutSeconds: number;
  /** Program and arguments of the MCP server. */
  readonly mcpCommand: readonly [string, ...string[]];
}

/** One file below the user's home. */
export interface FileEdit {
  readonly path: string;
  /** In its own words, for the diff and for whoever has to paste it. */
  readonly pasted: string;
  /**
   * The whole file with our part in it, from its bytes as they are (undefined: there is none). The same when it is in it
   * already. Throws `agents.unknown_format`.
   */
  add(before: string | undefined): string;
  /** Without our part, for a file that was changed since: the rest as it is now. Undefined: nothing is left in it. */
  remove(now: string): string | undefined;
}
