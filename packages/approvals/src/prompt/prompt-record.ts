import {
  type ApprovalId,
  canonicalJson,
  type HostInspection,
  inspectHost,
  type JsonValue,
  type Sha256Hex,
  sha256OfParts,
} from '@palyra/primitives';
import type { ApprovalLimits } from '../approval-limits.ts';
import { type BoundBytes, saltedSubject } from '../approval-subject.ts';
import { type Needs, offerOf, type Question } from '../question.ts';
import { assessRisk, type Risk } from './assess-risk.ts';
import { createPage, type Page } from './page.ts';
import { optionsOf, type PromptOption } from './prompt-options.ts';
import { type ActionText, actInWords, showAction } from './show-action.ts';

/** The question as shown. Its digest is in what the approver signs, so every character of it counts. */
export interface ApprovalPromptRecord extends PromptedQuestion {
  readonly format: PromptFormat;
  readonly approval_id: ApprovalId;
  readonly asked_at: number;
  readonly expires_at: number;
  /**
   * 32 random bytes, hexadecimal. SECURITY: T-54 — answers and attestations keep the digests of the prompt and of its
   * subject; without this, what was erased could be guessed from them.
   */
  readonly salt: string;
  /** Apart from everything else: nobody checked it. */
  readonly agent_says: { readonly text: string; readonly note: string } | null;
}

/** All of a prompt that the question makes: whoever has the question makes it again and compares. */
export interface PromptedQuestion {
  /** What would run. Measured or planned by us. */
  readonly what: PromptedAct;
  readonly policy: { readonly ids: readonly string[]; readonly reason: string };
  readonly needs: Pick<Needs, 'approvers' | 'assurance' | 'offer'> & { readonly holds_ms: number | null };
  readonly options: readonly PromptOption[];
}

export interface PromptedAct {
  /** Who wants what from where. */
  readonly sentence: string;
  readonly risk: Risk;
  readonly action: ActionText;
  readonly cwd: string | null;
  readonly workspace: { readonly name: string; readonly path: string | null };
  readonly session: string;
  readonly hosts: readonly { readonly shown: string; readonly warnings: readonly string[] }[];
  readonly secrets: readonly string[];
  readonly tier: Question['facts']['tier'];
  readonly bound: readonly { readonly name: string; readonly sha256: Sha256Hex | null }[];
  readonly not_bound: readonly string[];
  /** Salted, but for the first form of prompts. */
  readonly subject: Sha256Hex;
  /** Bytes of all this that had no room. SECURITY: T-08 — with any, no more than this one call is offered. */
  readonly left_out: number;
  /** Of all facts and effects, when not all of them are shown: what is not seen is bound all the same. */
  readonly whole: Sha256Hex | null;
}

export interface PromptInput {
  readonly approvalId: ApprovalId;
  /** Of the question, as it is without a salt. */
  readonly subject: Sha256Hex;
  readonly question: Question;
  /** What the operator lets an answer hold at most. */
  readonly limits: ApprovalLimits;
  readonly askedAt: number;
  readonly expiresAt: number;
  /** 32 random bytes, hexadecimal. */
  readonly salt: string;
}

/** The first has the subject as it is. It is not made any more, but cards and records of earlier releases have it. */
export type PromptFormat = 'palyra.prompt/1' | 'palyra.prompt/2';

const PROMPT_FORMAT: PromptFormat = 'palyra.prompt/2';
const DOMAIN = 'palyra/approval-prompt/v1';
const QUESTION_DOMAIN = 'palyra/approval-question/v1';
const WHOLE_DOMAIN = 'palyra/approval-whole/v1';
const UNCHECKED = 'Written by the agent. Nothing in it was checked.';

export function makePrompt(input: PromptInput): ApprovalPromptRecord {
  const { agentSays } = input.question.facts;
  return {
    format: PROMPT_FORMAT,
    approval_id: input.approvalId,
    ...describeQuestion({ ...input, subject: saltedSubject(input.subject, input.salt) }),
    asked_at: input.askedAt,
    expires_at: input.expiresAt,
    salt: input.salt,
    // SECURITY: T-47 — the agent's reasons stand in a place of their own, with our note, and are in no fact.
    agent_says: agentSays === null ? null : { text: createPage().prose(agentSays), note: UNCHECKED },
  };
}

/** What a prompt says of a subject. */
export function subjectShown(
  subject: Sha256Hex,
  { format, salt }: Pick<ApprovalPromptRecord, 'format' | 'salt'>,
): Sha256Hex {
  return format === 'palyra.prompt/1' ? subject : saltedSubject(subject, salt);
}

/** The same for the same question, whenever it is described: so it can be compared with what the approver saw. */
export function describeQuestion({
  question,
  subject,
  limits,
}: Pick<PromptInput, 'question' | 'subject' | 'limits'>): PromptedQuestion {
  const { approvers, assurance, holdsMs } = question.needs;
  const page = createPage();
  // In this order: how far a yes may reach, and the risk, depend on whether all the rest could be shown.
  const policy = {
    ids: page.list(question.policy.ids, page.text, (note) => note),
    reason: page.prose(question.policy.reason),
  };
  const act = describeAct(question, page);
  const options = optionsOf(question, limits, page);
  const risk = assessRisk({ facts: question.facts, leftOut: page.leftOut, hasDoubtfulHost: isDoubtful(act) });
  return {
    what: { ...act, risk, subject, left_out: page.leftOut, whole: page.leftOut === 0 ? null : wholeOf(question) },
    policy,
    needs: { approvers, assurance, offer: offerOf(question), holds_ms: holdsMs ?? null },
    options,
  };
}

/** Equal questions with equal subjects have equal digests, in whatever words the agent asks. */
export function questionDigest({ what, policy, needs, options }: PromptedQuestion): Sha256Hex {
  return sha256OfParts(QUESTION_DOMAIN, [canonicalJson({ what, policy, needs, options } as unknown as JsonValue)]);
}

/** SECURITY: T-03 — else one effect or host too many to be shown could be exchanged for another of its length. */
function wholeOf({ facts, effects }: Question): Sha256Hex {
  const { agentSays: _words, knownHosts: _known, ...measured } = facts;
  return sha256OfParts(WHOLE_DOMAIN, [canonicalJson({ measured, effects })]);
}

type ShownAct = Omit<PromptedAct, 'risk' | 'subject' | 'left_out' | 'whole'>;

function describeAct(question: Question, page: Page): ShownAct {
  const { facts } = question;
  const { principal, workspace, session, bound } = question.subject;
  const asNote = (note: string) => note;
  const textOrNull = (text: string | null) => (text === null ? null : page.text(text));
  return {
    // By its path where there is one: ids tell people nothing.
    sentence: `${page.name(principal)} wants to ${actInWords(facts.action, page)} from ${page.name(facts.workspacePath ?? workspace)}.`,
    action: showAction(facts.action, page),
    cwd: textOrNull(facts.cwd),
    workspace: { name: page.text(workspace), path: textOrNull(facts.workspacePath) },
    session: page.text(session),
    hosts: page.list(
      facts.hosts,
      (address) => describeHost(address, facts.knownHosts, page),
      (shown) => ({ shown, warnings: [] }),
    ),
    secrets: page.list(facts.secrets, page.text, asNote),
    tier: facts.tier,
    bound: page.list<BoundBytes, PromptedAct['bound'][number]>(
      bound,
      ({ name, sha256 }) => ({ name: page.text(name), sha256 }),
      (name) => ({ name, sha256: null }),
    ),
    not_bound: page.list(facts.notBound, page.text, asNote),
  };
}

function isDoubtful({ hosts }: Pick<PromptedAct, 'hosts'>): boolean {
  return hosts.some(({ warnings }) => warnings.length > 0);
}

/** Of the canonical text, as it is stored and sent. */
export function promptDigest(text: string): Sha256Hex {
  return sha256OfParts(DOMAIN, [text]);
}

/** The one spelling of a prompt: whoever shows one makes the digest that its answer carries from this. */
export function promptText(prompt: ApprovalPromptRecord): string {
  return canonicalJson(prompt as unknown as JsonValue);
}

/** More than a name may have, with its port. */
const LONGEST_ADDRESS = 300;

function describeHost(address: string, known: readonly string[], page: Page): PromptedAct['hosts'][number] {
  const [, host = address, port] = /^(.*):(\d{1,5})$/.exec(address) ?? [];
  if (address.length > LONGEST_ADDRESS) return { shown: page.text(address), warnings: [NO_HOST] };
  // SECURITY: T-08 — a name that passes for another is shown in the form that cannot, with the reason to doubt it.
  const { shown, warnings } = inspectHost(host, { known: [...known] });
  return {
    shown: port === undefined ? shown : `${shown}:${port}`,
    warnings: warnings.map((warning) => warningInWords(warning, page)),
  };
}

const NO_HOST = 'This is not the name of a host.';

function warningInWords(warning: HostInspection['warnings'][number], page: Page): string {
  switch (warning.kind) {
    case 'not_a_host':
      return NO_HOST;
    case 'rewritten':
      return 'It is written differently from what is connected to.';
    case 'bad_punycode':
      return `${page.name(warning.label)} stands for nothing.`;
    case 'mixed_scripts':
      return `${page.name(warning.label)} mixes the letters of ${warning.scripts.join(' and ')}.`;
    case 'whole_script':
    case 'look_alike_letters':
      return `${page.name(warning.label)} can be read as ${page.name(warning.readsAs)}.`;
    case 'odd_characters':
      return `${page.name(warning.label)} holds characters that pass for others.`;
    case 'mixed_directions':
      return 'Its letters run in two directions.';
    case 'resembles':
      return `It looks like ${page.name(warning.known)}, and is another.`;
  }
}
