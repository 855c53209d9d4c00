import {
  type ApprovalId,
  canonicalJson,
  type HostInspection,
  inspectHost,
  type JsonValue,
  type Sha256Hex,
  sha256OfParts,
  visibleText,
} from '@palyra/primitives';
import type { ApprovalLimits } from '../approval-limits.ts';
import type { BoundBytes } from '../approval-subject.ts';
import type { Needs, Question } from '../question.ts';
import { assessRisk, type Risk } from './assess-risk.ts';
import { optionsOf, type PromptOption } from './prompt-options.ts';
import { type ActionText, actInWords, showAction } from './show-action.ts';

/** The question as shown. Its digest is in what the approver signs, so every character of it counts. */
export interface ApprovalPromptRecord extends PromptedQuestion {
  readonly format: typeof PROMPT_FORMAT;
  readonly approval_id: ApprovalId;
  readonly asked_at: number;
  readonly expires_at: number;
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
  readonly hosts: readonly { readonly shown: string; readonly warnings: readonly string[] }[];
  readonly secrets: readonly string[];
  readonly tier: Question['facts']['tier'];
  readonly bound: readonly BoundBytes[];
  readonly not_bound: readonly string[];
  readonly subject: Sha256Hex;
}

export interface PromptInput {
  readonly approvalId: ApprovalId;
  readonly subject: Sha256Hex;
  readonly question: Question;
  /** What the operator lets an answer hold at most. */
  readonly limits: ApprovalLimits;
  readonly askedAt: number;
  readonly expiresAt: number;
}

export const PROMPT_FORMAT = 'palyra.prompt/1';
const DOMAIN = 'palyra/approval-prompt/v1';
const QUESTION_DOMAIN = 'palyra/approval-question/v1';
const UNCHECKED = 'Written by the agent. Nothing in it was checked.';

export function makePrompt(input: PromptInput): ApprovalPromptRecord {
  const { agentSays } = input.question.facts;
  return {
    format: PROMPT_FORMAT,
    approval_id: input.approvalId,
    ...describeQuestion(input),
    asked_at: input.askedAt,
    expires_at: input.expiresAt,
    // SECURITY: T-47 — the agent's reasons stand in a place of their own, with our note, and are in no fact.
    agent_says: agentSays === null ? null : { text: show(agentSays), note: UNCHECKED },
  };
}

/** The same for the same question, whenever it is described: so it can be compared with what the approver saw. */
export function describeQuestion({
  question,
  subject,
  limits,
}: Pick<PromptInput, 'question' | 'subject' | 'limits'>): PromptedQuestion {
  const { needs, policy } = question;
  const { approvers, assurance, offer, holdsMs } = needs;
  return {
    what: describeAct(question, subject),
    policy: { ids: policy.ids.map(show), reason: show(policy.reason) },
    needs: { approvers, assurance, offer, holds_ms: holdsMs ?? null },
    options: optionsOf(question, limits),
  };
}

/** Equal questions have equal digests, in whatever words the agent asks. */
export function questionDigest({ what, policy, needs, options }: PromptedQuestion): Sha256Hex {
  return sha256OfParts(QUESTION_DOMAIN, [canonicalJson({ what, policy, needs, options } as unknown as JsonValue)]);
}

function describeAct(question: Question, subject: Sha256Hex): PromptedAct {
  const { facts } = question;
  const { principal, workspace, bound } = question.subject;
  const action = showAction(facts.action);
  const hosts = facts.hosts.map((address) => describeHost(address, facts.knownHosts));
  const hasDoubtfulHost = hosts.some(({ warnings }) => warnings.length > 0);
  return {
    sentence: `${show(principal)} wants to ${actInWords(facts.action)} from ${show(workspace)}.`,
    risk: assessRisk({ facts, leftOut: action.left_out, hasDoubtfulHost }),
    action,
    cwd: facts.cwd === null ? null : show(facts.cwd),
    hosts,
    secrets: facts.secrets.map(show),
    tier: facts.tier,
    bound: bound.map(({ name, sha256 }) => ({ name: show(name), sha256 })),
    not_bound: facts.notBound.map(show),
    subject,
  };
}

/** Of the canonical text, as it is stored and sent. */
export function promptDigest(text: string): Sha256Hex {
  return sha256OfParts(DOMAIN, [text]);
}

export function promptText(prompt: ApprovalPromptRecord): string {
  return canonicalJson(prompt as unknown as JsonValue);
}

function describeHost(address: string, known: readonly string[]): PromptedAct['hosts'][number] {
  const [, host = address, port] = /^(.*):(\d{1,5})$/.exec(address) ?? [];
  // SECURITY: T-08 — a name that passes for another is shown in the form that cannot, with the reason to doubt it.
  const { shown, warnings } = inspectHost(host, { known: [...known] });
  return { shown: port === undefined ? shown : `${shown}:${port}`, warnings: warnings.map(warningInWords) };
}

function warningInWords(warning: HostInspection['warnings'][number]): string {
  switch (warning.kind) {
    case 'not_a_host':
      return 'This is not the name of a host.';
    case 'rewritten':
      return 'It is written differently from what is connected to.';
    case 'bad_punycode':
      return `${show(warning.label)} stands for nothing.`;
    case 'mixed_scripts':
      return `${show(warning.label)} mixes the letters of ${warning.scripts.join(' and ')}.`;
    case 'whole_script':
    case 'look_alike_letters':
      return `${show(warning.label)} can be read as ${show(warning.readsAs)}.`;
    case 'odd_characters':
      return `${show(warning.label)} holds characters that pass for others.`;
    case 'mixed_directions':
      return 'Its letters run in two directions.';
    case 'resembles':
      return `It looks like ${show(warning.known)}, and is another.`;
  }
}

function show(text: string): string {
  return visibleText(text, { maxCharacters: 4_000 });
}
