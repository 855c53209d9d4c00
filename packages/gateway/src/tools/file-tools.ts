import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, canonicalJson, type JsonObject, type Sha256Hex, sha256OfJson } from '@palyra/primitives';
import type { SandboxProfile } from '@palyra/sandbox';
import type { BoundCall, CallPlace, Tool, ToolMetadata, ToolPlan, ToolRefusal } from '../catalog/tool.ts';
import { boxFor } from '../file-tools/box-for.ts';
import type { FileTools, Inspection } from '../file-tools/create-file-tools.ts';
import { FILE_TOOLS, type FileTool } from '../file-tools/file-tool-list.ts';
import type { ReadyWorker } from '../file-tools/ready-worker.ts';
import type { FileChanges, PatchInput, WriteInput } from '../file-tools/worker/tool-shapes.ts';
import { planWorkerLaunch } from '../file-tools/worker-launch.ts';
import { GatewayError } from '../gateway-error.ts';
import { REACHES_NOTHING } from './built-in-plan.ts';
import type { ChangeLog } from './change-log.ts';
import { asRefusal, fileResultOf } from './file-result.ts';
import { protectedInBox } from './protected-in-box.ts';
import { showPatch } from './show-patch.ts';
import { showWrite } from './show-write.ts';
import { timeIsOver } from './time-is-over.ts';
import { unseenMoves } from './unseen-moves.ts';

export interface FileToolDeps {
  readonly fileTools: Pick<FileTools, 'inspect' | 'makeReady' | 'run'>;
  /** As the file tools have it. */
  profileFor(workspace: string): SandboxProfile;
  readonly changes: ChangeLog;
  readonly clock: Clock;
}

type Inspected = Extract<Inspection, { kind: 'inspected' }>;

interface Prepared {
  readonly input: JsonObject;
  readonly place: CallPlace;
  /** Real paths, relative to the workspace: all that an approval of this plan opens. */
  readonly opened: readonly string[];
  /** What would be done to which bytes; null where that may not be known beforehand. */
  readonly changes: FileChanges | null;
}

/** `palyra.fs.read`, `.list`, `.search`, `.write` and `.apply_patch` for the catalogue. */
export function createFileToolDefinitions(deps: FileToolDeps): readonly Tool[] {
  return FILE_TOOLS.map((tool) => define(tool, deps));
}

function define(tool: FileTool, deps: FileToolDeps): Tool {
  const { fileTools, profileFor, changes, clock } = deps;
  const metadata = metadataOf(tool);
  return {
    metadata,
    ...(tool.changesNothing === true ? { changesNothing: true } : {}),
    async plan(input, place) {
      const { workspace } = place;
      const context = { workspace, blobs: changes.blobsOf(place.runId) };
      const inspected = await fileTools.inspect(tool.name, input, context);
      if (inspected.kind === 'failed') return asRefusal(inspected);
      // SECURITY: T-08 — bytes that nobody was shown are not put where they run.
      const unseen =
        tool.name === 'palyra.fs.apply_patch' ? unseenMoves((input as unknown as PatchInput).patch, inspected) : [];
      if (unseen.length > 0) return refuseUnseen(unseen);
      const opened = inspected.protectedFiles.flatMap(({ path, reason }) => (reason === 'protected' ? [path] : []));
      if (opened.length > 0 && place.isBoxed === true) return protectedInBox();
      const box = boxFor(profileFor(workspace), { kind: 'run', tool: tool.name, input }, opened);
      return planOf({ tool, input, place, inspected, profile: planWorkerLaunch(box)?.profile ?? box });
    },
    makeReady: ({ plan }) => fileTools.makeReady(tool.name, (plan.prepared as Prepared).place.workspace),
    async execute({ plan, needsBoundBytes }, { signal, ready }) {
      const { input, place, opened, changes: planned } = plan.prepared as Prepared;
      const { runId, callId, workspace } = place;
      const startedAt = clock.now();
      let isChanged = false;
      const result = await fileTools.run(tool.name, input, {
        workspace,
        blobs: changes.blobsOf(runId),
        // SECURITY: T-03, T-15 — exactly the files of the plan that was decided: where a path leads by now is another file.
        allowProtected: opened,
        signal,
        ...(ready === undefined ? {} : { ready: ready as ReadyWorker }),
        async onPrepared(prepared, temporary) {
          // SECURITY: T-04 — what somebody looked at is done to those bytes and makes these, or is not done at all.
          isChanged = needsBoundBytes && planned !== null && !isDeepStrictEqual(prepared, planned);
          if (isChanged) throw new GatewayError('gateway.changed_meanwhile', 'The files are other ones by now.');
          // SECURITY: T-32 — written down before it is done: what a crash leaves behind can be undone, too.
          await changes.record({ runId, callId, workspace, changes: prepared, temporary });
        },
      });
      return fileResultOf({ result, isTimeOver: timeIsOver(signal), isChanged, startedAt, endedAt: clock.now() });
    },
  };
}

function metadataOf({ name, description, inputSchema, capabilities }: FileTool): ToolMetadata {
  const isWriting = capabilities.length > 0;
  return {
    name,
    version: '1',
    description,
    inputSchema: inputSchema as unknown as JsonObject,
    capabilities,
    isSensitive: isWriting,
    tier: 'built_in',
    isParallel: !isWriting,
    isHidden: false,
  };
}

interface PlanQuestion {
  readonly tool: FileTool;
  readonly input: JsonObject;
  readonly place: CallPlace;
  readonly inspected: Inspected;
  /** Of the worker; where there is none `inspect` has refused already. */
  readonly profile: SandboxProfile;
}

function planOf(question: PlanQuestion): ToolPlan {
  const { tool, input, place, inspected, profile } = question;
  const executor = inspected.execution?.executor ?? 'none';
  const { memoryBytes, fileBytes } = profile.limits;
  const prepared: Prepared = {
    input,
    place,
    opened: inspected.protectedFiles.map(({ path }) => path),
    changes: inspected.changes,
  };
  const profileDigest = sha256OfJson({ profile: profile as unknown as JsonObject });
  return {
    kind: 'planned',
    arguments: argumentsOf(question),
    capabilities: tool.capabilities,
    enforced: enforcedBy(question),
    declared: { arguments: [], hosts: [], paths: inspected.paths.map((path) => join(place.workspace, path)) },
    bind: async () => ({
      kind: 'bound',
      bound: boundOf(question),
      notBound: tool.capabilities.length > 0 ? [] : ['What the files hold when they are read.'],
    }),
    profile: profileDigest,
    shown: shownOf(question),
    cwd: null,
    limits: { wall_ms: place.timeoutMs, memory_bytes: memoryBytes, file_bytes: fileBytes },
    executor,
    printed: { tool: tool.name, paths: inspected.paths, tier: 'built_in', profile_sha256: profileDigest },
    prepared,
  };
}

/** With the path as it really leads; patches name theirs themselves. */
function argumentsOf({ input, inspected }: PlanQuestion): JsonObject {
  const [path] = inspected.paths;
  return Object.hasOwn(input, 'path') && path !== undefined ? { ...input, path } : input;
}

function enforcedBy({ tool, place, inspected }: PlanQuestion): ToolPlan['enforced'] {
  const { workspace } = place;
  const isWriting = tool.capabilities.length > 0;
  const among = (wanted: 'protected' | 'secret') =>
    inspected.protectedFiles.filter(({ reason }) => reason === wanted).map(({ path }) => join(workspace, path));
  const secretFiles = among('secret');
  return {
    ...REACHES_NOTHING,
    // By name besides: a grant to read one is none to write it, and a rule for one is none for the workspace.
    readRoots: isWriting ? [workspace] : [workspace, ...secretFiles],
    writeRoots: isWriting ? [workspace, ...secretFiles] : [],
    protectedPaths: among('protected'),
    secretFiles,
  };
}

/** What the files will hold; of secret-shaped ones only what is in the arguments, which are bound anyway. */
function boundOf({ inspected }: PlanQuestion): BoundCall['bound'] {
  return (inspected.changes?.files ?? []).flatMap(({ path, after }) =>
    after.kind === 'file' ? [{ name: path, sha256: after.sha256 as Sha256Hex }] : [],
  );
}

function refuseUnseen(unseen: readonly string[]): ToolRefusal {
  return {
    kind: 'refused',
    code: 'file.protected',
    message: `The patch moves a file to ${unseen.join(', ')} without showing what it holds.`,
    fix: 'Delete it there and write it here, with all that it holds.',
  };
}

function shownOf({ tool, input, inspected }: PlanQuestion): ToolPlan['shown'] {
  const { paths } = inspected;
  switch (tool.name) {
    case 'palyra.fs.write':
      return showWrite({ input: input as unknown as WriteInput, path: paths[0] ?? '', inspected });
    case 'palyra.fs.apply_patch':
      return showPatch(input as unknown as PatchInput, paths);
    case 'palyra.fs.read':
    case 'palyra.fs.list':
    case 'palyra.fs.search':
      return {
        kind: 'call',
        name: tool.name,
        arguments: canonicalJson(argumentsOf({ tool, input, inspected } as PlanQuestion)),
      };
  }
}
