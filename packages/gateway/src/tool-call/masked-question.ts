import type { Effect, Question, ShownAction, StartedAction } from '@palyra/approvals';

type Facts = Question['facts'];
type Mask = (text: string) => string;

/**
 * What the approver reads, without the secrets that are held: prompts are kept, sent to other devices and photographed.
 * What is approved stays the call as it is: its digest is of the arguments, not of this text.
 * SECURITY: T-24 — whoever writes a secret into a command does not get it into the record of the question.
 */
export function maskedQuestion(question: Question, mask: Mask): Question {
  const { facts, effects } = question;
  return { ...question, facts: maskedFacts(facts, mask), effects: effects.map((effect) => maskedEffect(effect, mask)) };
}

function maskedFacts(facts: Facts, mask: Mask): Facts {
  return {
    ...facts,
    action: maskedAction(facts.action, mask),
    cwd: facts.cwd === null ? null : mask(facts.cwd),
    outsidePaths: facts.outsidePaths.map(mask),
    protectedPaths: facts.protectedPaths.map(mask),
    agentSays: facts.agentSays === null ? null : mask(facts.agentSays),
  };
}

function maskedAction(action: ShownAction, mask: Mask): ShownAction {
  switch (action.kind) {
    case 'command':
      return { ...action, argv: action.argv.map(mask) };
    case 'diff':
      return { ...action, paths: action.paths.map(mask), diff: mask(action.diff) };
    case 'url':
      return { ...action, url: mask(action.url) };
    case 'call':
      return { ...action, arguments: mask(action.arguments) };
    case 'connection':
      return { ...action, by: maskedAction(action.by, mask) as StartedAction };
  }
}

/** Only those that nobody is ever granted beyond this once: the others say exactly what they cover. */
function maskedEffect(effect: Effect, mask: Mask): Effect {
  if (effect.kind === 'argv') return { ...effect, argv: effect.argv.map(mask), cwd: mask(effect.cwd) };
  return effect.kind === 'once' ? { ...effect, what: mask(effect.what) } : effect;
}
