import { join } from 'node:path';
import { wrappedHosts } from '@palyra/agents';
import { type Approvals, limitsOf, openApprovals, type VerifySignature } from '@palyra/approvals';
import type { Config, HomeLayout } from '@palyra/config';
import { createEgress, proxyProgram } from '@palyra/egress';
import {
  type BindCredentials,
  type Catalog,
  commitWithJournal,
  createApprovalRecord,
  createBuiltinTools,
  createCatalog,
  createDelegatedTools,
  createFileTools,
  createGateway,
  createKeptChanges,
  createRedactor,
  createRememberedRules,
  type FileTools,
  type Gateway,
  type KeptChanges,
  type OperatorNetwork,
  openWorkspaces,
  type Redactor,
  type RememberedRules,
  recoverRules,
  type ToolCallConfig,
  type UnfinishedRule,
  type Workspaces,
} from '@palyra/gateway';
import { createSignatureVerifier } from '@palyra/identity';
import { type Journal, openJournal } from '@palyra/journal';
import { type ActivePolicies, compileOffLoop, createActivePolicies, watchDirectory } from '@palyra/policy';
import {
  type Clock,
  createLogger,
  type Logger,
  type LoggerOptions,
  STANDARD_ERROR,
  systemClock,
} from '@palyra/primitives';
import {
  CREDENTIAL_PATHS,
  createSandbox,
  type OperatorPlaces,
  type Sandbox,
  type SandboxOptions,
  type SandboxProfile,
} from '@palyra/sandbox';
import type { Database } from '@palyra/storage';
import { outfitFor } from './agents/agent-outfits.ts';
import { programsOf } from './agents/own-programs.ts';
import { createWrappedSessions, type WrappedSessions } from './agents/wrapped-sessions.ts';
import { createFolderLook } from './look-at-folder.ts';
import { nodeName } from './node-name.ts';
import { type DaemonIdentity, openIdentity } from './open-identity.ts';
import { type DaemonSchema, lockHome, openStorage } from './open-storage.ts';
import { openWasm, wasmWays } from './open-wasm.ts';
import { operatorNetwork } from './operator-network.ts';
import { PALYRAD, recordPolicyChange } from './record-policy-change.ts';
import { toolCallConfigOf } from './tool-call-config-of.ts';
import { type CallObserver, type CallWatch, watchCalls } from './watch-calls.ts';
import { commandProfile, refuseUnheld, workspaceProfile } from './workspace-profile.ts';

export interface DaemonOptions {
  readonly home: HomeLayout;
  readonly config: Config;
  readonly operator: OperatorPlaces;
  /** Whose signatures count: those of the home's devices unless told. */
  readonly verify?: VerifySignature;
  readonly log?: LoggerOptions;
  readonly toolCalls?: ToolCallConfig;
  profileFor?(workspace: string): SandboxProfile;
  readonly clock?: Clock;
  /** One that another process has, from `startService`; closed with the daemon. Made here when absent. */
  readonly sandbox?: Sandbox;
  /** Sandboxes that are started ahead; as the sandbox has it unless told. */
  readonly pool?: SandboxOptions['pool'];
  /** Which hosts of a call get a credential that its tool never sees; none unless told. */
  readonly credentials?: BindCredentials;
  /** Told of every call. */
  readonly observers?: readonly CallObserver[];
}

/** Everything but listeners. */
export interface Daemon {
  readonly gateway: Gateway;
  /** What runs through it. */
  readonly calls: CallWatch;
  readonly catalog: Catalog;
  /** What calls are held to, as the operator configured it. */
  readonly toolCalls: ToolCallConfig;
  /** An answer for good, given here, is a rule when it is told. */
  readonly approvals: Approvals & Pick<RememberedRules, 'decide' | 'record'>;
  readonly journal: Journal;
  readonly identity: DaemonIdentity;
  readonly workspaces: Workspaces;
  /** Agents in boxes, and who answers them. */
  readonly wrapped: WrappedSessions;
  readonly policies: ActivePolicies;
  readonly sandbox: Sandbox;
  readonly redactor: Redactor;
  readonly changes: KeptChanges;
  readonly fileTools: FileTools;
  /** What the operator configured about connections. */
  readonly network: OperatorNetwork;
  /** Answers for good: made, listed and taken out. */
  readonly rules: RememberedRules;
  /** Answers for good that palyrad did not come to the end of before it last ended. */
  readonly unfinishedRules: readonly UnfinishedRule[];
  /** Calls that were under way when palyrad last ended; their outcome is not known. */
  readonly interrupted: readonly string[];
  readonly database: Database<DaemonSchema>;
  /** Names this palyrad across restarts. */
  readonly owner: string;
  /** Masks the secrets that are held. */
  readonly logger: Logger;
  readonly clock: Clock;
  close(): Promise<void>;
}

/** In start order; when one does not come up, those before it are closed again. */
export async function composeDaemon(options: DaemonOptions): Promise<Daemon> {
  const { home, config, operator, credentials: bind, clock = systemClock } = options;
  const { toolCalls = toolCallConfigOf(config) } = options;
  const { profileFor = (workspace: string) => workspaceProfile(workspace, toolCalls.processRunner) } = options;
  const commandProfileFor =
    options.profileFor ?? ((workspace: string) => commandProfile(workspace, toolCalls.processRunner));
  refuseUnheld(toolCalls);
  const redactor = createRedactor();
  const logger = redactingLogger(redactor, options.log);
  await using started = new AsyncDisposableStack();
  // SECURITY: T-32 — a second palyrad would settle calls of this one as interrupted, while they run.
  started.adopt(lockHome(home), (lock) => lock.release());
  // First, before the process grows.
  const own = () => createSandbox({ operator, logger, pool: options.pool ?? {} });
  const sandbox = started.adopt(options.sandbox ?? (await own()), (each) => each.close());
  const compiling = started.adopt(beginCompiling(options, clock), async (each) => {
    await each.catch(() => undefined);
  });
  const database = started.adopt(await openStorage(options, logger), (each) => each.close());
  const journal = await openJournal({ database, keyDirectory: home.identity, bodyDirectory: home.bodies, clock });
  const owner = await nodeName(home.identity);
  const identity = openIdentity({ home, database, journal, clock });
  const look = createFolderLook({ operator, sandbox: options.sandbox, profileFor, clock });
  const workspaces = openWorkspaces({ database, journal, owner, look, clock });
  const unfinishedRules = await recoverRules({ directory: home.policies, journal });
  for (const rule of unfinishedRules) logger.warn({ rule }, NOT_REMEMBERED);
  let gateway: Gateway | undefined;
  const policies = started.adopt(
    await createActivePolicies({
      directory: home.policies,
      preset: config.policy.preset,
      config: EVERYTHING,
      clock,
      logger,
      recordChange: (change) => recordPolicyChange(journal, change),
      // What was taken back above is not what was compiled meanwhile.
      ...(unfinishedRules.length === 0 ? { first: compiling } : {}),
      changed: () => void gateway?.policiesChanged().catch((error: unknown) => logger.error({ error }, NOT_REDECIDED)),
      ...(config.policy.auto_apply ? { watch: watchDirectory } : {}),
    }),
    (each) => each.close(),
  );
  const approvals = started.adopt(
    await openApprovals({
      database,
      origin: journal.origin,
      verify: options.verify ?? createSignatureVerifier({ ...identity, clock }),
      commit: commitWithJournal(journal, PALYRAD),
      ...createApprovalRecord(journal),
      limits: limitsOf(config.approvals),
      clock,
    }),
    (each) => each.close(),
  );
  const network = operatorNetwork(config);
  const openGate = () => sandbox.openGate(proxyProgram());
  const egress = started.adopt(createEgress({ openGate, logger, clock }), (each) => each.close());
  const changes = createKeptChanges({ directory: join(home.root, 'changes') });
  const fileTools = started.adopt(createFileTools({ sandbox, profileFor, clock }), (each) => each.close());
  const wasm = started.adopt(await openWasm({ home, sandbox, config: toolCalls.wasmRuntime, clock }), (each) =>
    each.close(),
  );
  const wrapped = createWrappedSessions();
  const catalog = createCatalog([
    ...createBuiltinTools({
      agents: {
        outfitFor: (name) =>
          outfitFor(name, { userHome: operator.home, approvalSeconds: config.approvals.timeout_minutes * 60 }),
        programsOf,
        openSession: wrapped.openSession,
      },
      sandbox,
      profileFor,
      commandProfileFor,
      redact: redactor,
      fileTools,
      changes,
      egress,
      network,
      ...(bind === undefined ? {} : { credentials: bind }),
      clock,
      wasm: { ...wasm, database, ...wasmWays({ egress, network, redactor, journal, logger, bind }) },
    }),
    ...createDelegatedTools({ clock, never: neverPlaces(operator), changes }),
  ]);
  const { registryHosts } = network;
  const rules = createRememberedRules({
    directory: home.policies,
    policies,
    approvals,
    database,
    registryHosts,
    clientHosts: wrappedHosts(),
    clock,
  });
  gateway = started.adopt(
    createGateway({
      database,
      journal,
      approvals,
      policy: policies,
      catalog,
      config: toolCalls,
      owner,
      unattended: config.approvals.unattended,
      redactor,
      rules,
      network,
      kept: { changes, fileTools },
      clock,
    }),
    (each) => each.close(),
  );
  const interrupted = await gateway.settleInterrupted();
  const all = started.move();
  return {
    ...watchCalls(gateway, options.observers ?? []),
    catalog,
    toolCalls,
    approvals: withRules(approvals, rules),
    journal,
    identity,
    workspaces,
    wrapped,
    policies,
    sandbox,
    redactor,
    changes,
    fileTools,
    network,
    rules,
    unfinishedRules,
    interrupted,
    database,
    owner,
    logger,
    clock,
    close: () => all.disposeAsync(),
  };
}

/** Beside the rest: it is the longest part of a start, and needs nothing but the files. Its failure is heard of when it is needed. */
function beginCompiling({ home, config }: DaemonOptions, clock: Clock): ReturnType<typeof compileOffLoop> {
  const compiling = compileOffLoop({ directory: home.policies, preset: config.policy.preset }, clock);
  compiling.catch(() => undefined);
  return compiling;
}

/** SECURITY: T-24 — what the daemon says of a call has no secret in it that is held. */
function redactingLogger(redactor: Redactor, { destination, ...options }: LoggerOptions = {}): Logger {
  return createLogger({ ...options, destination: redactor.redactLog(destination ?? STANDARD_ERROR) });
}

/** Whichever service takes the answer: none of them can forget the rule. */
function withRules(approvals: Approvals, { decide, record }: RememberedRules): Daemon['approvals'] {
  return Object.assign(Object.create(approvals) as Approvals, { decide, record });
}

/** What no agent's own tool may touch: the sandbox hides the same from those that run in it. */
function neverPlaces({ home, palyraHome }: OperatorPlaces): readonly string[] {
  return [palyraHome, ...CREDENTIAL_PATHS.map((path) => join(home, path))];
}

const NOT_REDECIDED = 'Questions that were asked under the policies of before could not be decided anew.';

const NOT_REMEMBERED =
  'An answer for good did not become a rule before palyrad ended. It holds for its one call; palyra allow writes the rule.';

/** Nothing is kept from its allowlist, and every capability is sensitive. */
const EVERYTHING = {
  allowedTools: ['*'],
  allowedSkills: ['*'],
  allowedPrincipals: ['*'],
  allowedChannels: ['*'],
  sensitiveCapabilities: ['process_exec', 'network', 'secrets_read', 'filesystem_write'],
} as const;
