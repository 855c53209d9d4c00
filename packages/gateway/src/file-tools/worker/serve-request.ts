import { planPatch, touchedByPatch } from './apply-patch.ts';
import type { ChangePlan } from './change-plan.ts';
import { describePlan } from './describe-plan.ts';
import { FileFailure } from './file-failure.ts';
import { listDirectory } from './list-directory.ts';
import { closePlaces, locateFiles, locateUnmoved, protectedAmong, type Touched } from './locate-files.ts';
import { type Conversation, performChange } from './perform-change.ts';
import { createProtectedPaths, type ProtectedPaths, type ProtectedPattern } from './protected-paths.ts';
import type { FileToolName, InspectOutput, WorkerRequest } from './protocol.ts';
import { readText } from './read-text.ts';
import { searchFiles } from './search-files.ts';
import { settleChanges } from './settle-changes.ts';
import type { ListInput, PatchInput, ReadInput, SearchInput, WriteInput } from './tool-shapes.ts';
import { type Blobs, planUndo, touchedByUndo } from './undo-changes.ts';
import type { Place, Root } from './walk-path.ts';
import type { Workplace } from './workplace.ts';
import { planWrite, touchedByWrite } from './write-file.ts';

export interface Service {
  readonly root: Root;
  readonly blobs: Blobs;
  readonly conversation: Conversation;
}

/** One request, answered over the conversation. Throws `FileFailure`. */
export function serveRequest(request: WorkerRequest, service: Service): void {
  const { act, limits, patterns, allowProtected } = request;
  const guard = { protectedPaths: rememberedPaths(patterns), allowProtected };
  const workplace: Workplace = { root: service.root, limits, guard };
  const { conversation } = service;
  switch (act.kind) {
    case 'inspect':
      conversation.say({ kind: 'done', output: inspect(workplace, act.tool, act.input) });
      return;
    case 'settle':
      conversation.say({ kind: 'done', output: settleChanges(workplace, act.changes, act.temporary) });
      return;
    case 'undo':
      if (act.temporary !== undefined) settleChanges(workplace, act.changes, act.temporary);
      change(workplace, locateUnmoved(workplace, touchedByUndo(act)), {
        request,
        service,
        plan: (places) => planUndo(workplace, act, { places, blobs: service.blobs }),
      });
      return;
    case 'run':
      runTool(workplace, act, { request, service });
  }
}

/** They are the same in every request of one daemon. */
function rememberedPaths(patterns: readonly ProtectedPattern[]): ProtectedPaths {
  const key = JSON.stringify(patterns);
  if (remembered?.key !== key) remembered = { key, paths: createProtectedPaths(patterns) };
  return remembered.paths;
}

let remembered: { readonly key: string; readonly paths: ProtectedPaths } | undefined;

interface Serving {
  readonly request: WorkerRequest;
  readonly service: Service;
}

function runTool(
  workplace: Workplace,
  { tool, input }: { readonly tool: FileToolName; readonly input: unknown },
  serving: Serving,
): void {
  const { conversation } = serving.service;
  switch (tool) {
    case 'palyra.fs.read':
      conversation.say({ kind: 'done', output: readText(workplace, input as ReadInput) });
      return;
    case 'palyra.fs.list':
      conversation.say({ kind: 'done', output: listDirectory(workplace, input as ListInput) });
      return;
    case 'palyra.fs.search':
      conversation.say({ kind: 'done', output: searchFiles(workplace, input as SearchInput) });
      return;
    case 'palyra.fs.write':
      change(workplace, locateFiles(workplace, touchedBy(tool, input)), {
        ...serving,
        plan: (places) => planWrite(workplace, input as WriteInput, places),
      });
      return;
    case 'palyra.fs.apply_patch':
      refuseLongPatch(workplace, input as PatchInput);
      change(workplace, locateFiles(workplace, touchedBy(tool, input)), {
        ...serving,
        plan: (places) => planPatch(workplace, input as PatchInput, places),
      });
  }
}

/** The one way in which files change. It closes the places. */
function change<Found extends Place | undefined>(
  workplace: Workplace,
  places: readonly Found[],
  { request, service, plan }: Serving & { plan(places: readonly Found[]): ChangePlan },
): void {
  try {
    const { conversation } = service;
    performChange(workplace, plan(places), { conversation, temporary: request.temporary });
  } finally {
    closePlaces(workplace, places);
  }
}

function inspect(workplace: Workplace, tool: FileToolName, input: unknown): InspectOutput {
  const touched = touchedBy(tool, input);
  const open: Workplace = { ...workplace, guard: { ...workplace.guard, allowProtected: true } };
  const places = locateFiles(open, touched);
  try {
    const paths = places.map(({ path }) => path);
    const found = { paths, protectedFiles: protectedAmong(workplace, touched, places) };
    const { protectedPaths } = workplace.guard;
    // SECURITY: T-15 — whether a patch fits tells what the file holds: who may not read it is not told.
    const isSecret = paths.some((path) => protectedPaths.reasonFor(path, 'read') !== undefined);
    const plan = isSecret ? undefined : dryRun(open, places, { tool, input });
    return { ...found, ...(plan === undefined ? { changes: null, present: null } : describePlan(open, plan, tool)) };
  } finally {
    closePlaces(workplace, places);
  }
}

/** SECURITY: T-02 — what would fail anyway fails before a human is asked. */
function dryRun(
  workplace: Workplace,
  places: readonly Place[],
  { tool, input }: { readonly tool: FileToolName; readonly input: unknown },
): ChangePlan | undefined {
  switch (tool) {
    case 'palyra.fs.read':
    case 'palyra.fs.list':
    case 'palyra.fs.search':
      return undefined;
    case 'palyra.fs.write':
      return planWrite(workplace, input as WriteInput, places);
    case 'palyra.fs.apply_patch':
      refuseLongPatch(workplace, input as PatchInput);
      return planPatch(workplace, input as PatchInput, places);
  }
}

function touchedBy(tool: FileToolName, input: unknown): readonly Touched[] {
  switch (tool) {
    case 'palyra.fs.read':
    case 'palyra.fs.list':
    case 'palyra.fs.search':
      return [{ path: (input as { readonly path?: string }).path ?? '.', access: 'read', followLast: true }];
    case 'palyra.fs.write':
      return touchedByWrite(input as WriteInput);
    case 'palyra.fs.apply_patch':
      return touchedByPatch(input as PatchInput);
  }
}

function refuseLongPatch({ limits }: Workplace, { patch }: PatchInput): void {
  if (Buffer.byteLength(patch) <= limits.patchBytes) return;
  throw new FileFailure('file.too_large', `The patch is longer than ${limits.patchBytes} bytes.`, {
    fix: 'Send it in parts.',
  });
}
