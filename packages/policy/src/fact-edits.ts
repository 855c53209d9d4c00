import type { Leaving } from './request.ts';
import type { FactValue, RequestSketch, SketchFacts } from './request-sketch.ts';

/** One step towards a request for which a condition holds, or does not. */
export type FactEdit =
  | { readonly kind: 'be'; readonly fact: string; readonly value: FactValue }
  | { readonly kind: 'hold'; readonly fact: string; readonly value: string }
  | { readonly kind: 'lack'; readonly fact: string; readonly value: string }
  | { readonly kind: 'unset'; readonly fact: string };

/** Facts are changed in order: later steps win. Facts that are derived are changed through those they come from. */
export function applyEdits({ action, facts }: RequestSketch, edits: readonly FactEdit[]): RequestSketch {
  return { action, facts: edits.reduce(applyEdit, facts) };
}

/** Something of the right form for a fact that only has to be there, or to be different. */
export function sampleFor(fact: string): string {
  return SAMPLES[fact.slice(fact.lastIndexOf('.') + 1)] ?? 'example';
}

const HOST = 'host.example:443';

const SAMPLES: Readonly<Record<string, string>> = {
  hosts: HOST,
  registry_hosts: 'registry.example:443',
  client_hosts: 'client.example:443',
  private_hosts: '127.0.0.1:80',
  read_roots: '/workspace',
  write_roots: '/workspace',
  outside_paths: '/outside',
  protected_paths: '/workspace/.git/hooks/pre-commit',
  secret_files: '/workspace/.env',
  never_paths: '/home/example/.ssh',
  never_sockets: '/run/docker.sock',
  paths: '/workspace/example',
  capabilities: 'process_exec',
  definition_sha256: 'f'.repeat(64),
  coverage: 'wrapped',
  separation: 'service',
  tier: 'B',
  egress: 'none',
};

/** How each way out of the box is made and unmade. */
export const LEAVING_EDITS: Readonly<
  Record<Leaving, { readonly fact: string; readonly make: readonly FactEdit[]; readonly unmake: readonly FactEdit[] }>
> = {
  host: listed('hosts'),
  registry: listed('registry_hosts'),
  client_host: listed('client_hosts'),
  open_network: {
    fact: 'context.enforced.egress',
    make: [
      { kind: 'be', fact: 'context.enforced.egress', value: 'none' },
      { kind: 'hold', fact: 'context.capabilities', value: 'network' },
    ],
    unmake: [{ kind: 'unset', fact: 'context.enforced.egress' }],
  },
  secret: listed('secrets'),
  upstream: {
    fact: 'context.enforced.upstream.server',
    make: [{ kind: 'be', fact: 'context.enforced.upstream.server', value: 'example' }],
    unmake: [
      { kind: 'unset', fact: 'context.enforced.upstream.server' },
      { kind: 'unset', fact: 'context.enforced.upstream.definition_sha256' },
    ],
  },
  protected_file: listed('protected_paths'),
  secret_file: listed('secret_files'),
  outside_path: listed('outside_paths'),
  limits_only: tier('B'),
  unboxed: tier('none'),
};

function listed(name: string): (typeof LEAVING_EDITS)[Leaving] {
  const fact = `context.enforced.${name}`;
  return {
    fact,
    make: [{ kind: 'hold', fact, value: sampleFor(fact) }],
    unmake: [{ kind: 'unset', fact }],
  };
}

function tier(value: string): (typeof LEAVING_EDITS)[Leaving] {
  const fact = 'context.enforced.tier';
  return { fact, make: [{ kind: 'be', fact, value }], unmake: [{ kind: 'unset', fact }] };
}

function applyEdit(facts: SketchFacts, edit: FactEdit): SketchFacts {
  if (edit.fact === 'context.enforced.leaves') return leave(facts, edit);
  const derived = deriveFrom(edit);
  if (derived !== undefined) return derived.reduce(applyEdit, facts);
  const { [edit.fact]: before, ...others } = facts;
  const list = Array.isArray(before) ? (before as readonly string[]) : [];
  switch (edit.kind) {
    case 'be':
      return Array.isArray(edit.value) && edit.value.length === 0 ? others : { ...others, [edit.fact]: edit.value };
    case 'hold':
      return { ...others, [edit.fact]: [...new Set([...list, edit.value])].toSorted() };
    case 'lack': {
      const rest = list.filter((value) => value !== edit.value);
      return rest.length === 0 ? others : { ...others, [edit.fact]: rest };
    }
    case 'unset':
      return others;
  }
}

function leave(facts: SketchFacts, edit: FactEdit): SketchFacts {
  const wanted = edit.kind === 'be' ? edit.value : [];
  const steps = (Object.keys(LEAVING_EDITS) as Leaving[]).flatMap((leaving): readonly FactEdit[] => {
    const { fact, make, unmake } = LEAVING_EDITS[leaving];
    const isWanted =
      edit.kind === 'be' ? [wanted].flat().includes(leaving) : edit.kind === 'hold' && edit.value === leaving;
    // A host that is there already leaves the box as well as another.
    if (isWanted) return facts[fact] === undefined || fact.endsWith('.tier') ? make : [];
    return edit.kind === 'be' || (edit.kind === 'lack' && edit.value === leaving) ? unmake : [];
  });
  // Two ways out share the tier, so what is unmade comes first.
  return [...steps.filter(({ kind }) => kind === 'unset'), ...steps.filter(({ kind }) => kind !== 'unset')].reduce(
    applyEdit,
    facts,
  );
}

/** Facts that are computed from others, or from the configuration; an approval is tried with every request anyway. */
function deriveFrom(edit: FactEdit): readonly FactEdit[] | undefined {
  const isTrue = edit.kind === 'be' && edit.value === true;
  switch (edit.fact) {
    case 'context.approved':
    case 'context.allow_sensitive_tools':
    case 'context.assurance':
      return [];
    case 'context.is_sensitive_action':
      return isTrue
        ? [{ kind: 'hold', fact: 'context.capabilities', value: 'process_exec' }]
        : [{ kind: 'unset', fact: 'context.capabilities' }];
    case 'context.is_allowlisted_tool':
      return isTrue ? [] : [{ kind: 'be', fact: 'resource.id', value: 'not-listed.tool' }];
    case 'context.is_allowlisted_skill':
      return isTrue ? [{ kind: 'be', fact: 'context.skill_id', value: 'example-skill' }] : [];
    case 'context.is_allowlisted_principal':
      return isTrue ? [] : [{ kind: 'be', fact: 'principal.id', value: 'not-listed' }];
    case 'context.is_allowlisted_channel':
      return isTrue ? [] : [{ kind: 'be', fact: 'context.channel', value: 'not-listed' }];
    case 'context.declared.command_line':
      return edit.kind === 'be' && typeof edit.value === 'string' ? commandLine(edit.value) : [];
    case 'context.enforced.upstream':
      return edit.kind === 'unset' ? LEAVING_EDITS.upstream.unmake : LEAVING_EDITS.upstream.make;
    default:
      return undefined;
  }
}

function commandLine(text: string): readonly FactEdit[] {
  const [executable = '', ...rest] = text.split(' ');
  return [
    { kind: 'be', fact: 'context.declared.executable', value: executable },
    { kind: 'be', fact: 'context.declared.arguments', value: rest },
  ];
}
