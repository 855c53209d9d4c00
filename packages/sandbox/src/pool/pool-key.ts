import { hash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import type { LaunchPlan } from '../launch-plan.ts';

/**
 * Two plans with one key make the same sandbox: everything but the tool, and but the name of the job's own cgroups.
 *
 * SECURITY: T-03, T-44 — what is not named here as an exception counts, also what is added to plans later: masks, protected
 * paths, and device and inode of what is bound. When one changes, sandboxes started before it are nobody's any more.
 */
export function poolKey(plan: LaunchPlan): string {
  const { tool, data, filter, cgroups, watch, expected, ...rest } = plan;
  const described = {
    ...rest,
    terminal: tool.terminal,
    cgroups: cgroups.map(withoutJob),
    watch: { ...watch, cpuCounter: watch.cpuCounter === undefined ? undefined : counterOf(watch.cpuCounter) },
    expected: { ...expected, cgroups: expected.cgroups.map(withoutJob) },
    data: data.map(({ fd, bytes }) => [fd, bytes.length]),
    filter: filter?.length,
  };
  const bytes = [...data.map((file) => file.bytes), ...(filter === undefined ? [] : [filter])];
  return hash('sha256', Buffer.concat([Buffer.from(JSON.stringify(described)), ...bytes]), 'base64');
}

function withoutJob<Group extends { readonly directory: string }>(group: Group): Group {
  return { ...group, directory: dirname(group.directory) };
}

/** `…/JOB/cpu.stat`. */
function counterOf(path: string): readonly string[] {
  return [dirname(dirname(path)), basename(path)];
}
