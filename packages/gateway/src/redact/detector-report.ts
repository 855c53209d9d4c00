/** A text with a credential in it; `kind` groups the rates. */
export interface DetectorPositive {
  readonly id: string;
  readonly kind: string;
  readonly before: string;
  /** In pieces, so that no file holds the whole. */
  readonly secret: readonly string[];
  readonly after: string;
}

/** A text without one. */
export interface DetectorNegative {
  readonly kind: string;
  readonly text: string;
}

export interface DetectorRate {
  readonly kind: string;
  readonly wrong: number;
  readonly total: number;
  /** `wrong / total`. */
  readonly rate: number;
  /** The cases that went wrong, for the reader of a failing test. */
  readonly cases: readonly string[];
}

export interface DetectorReport {
  /** Credentials that stayed, were hidden in part only, or under another id. One line per kind. */
  readonly falseNegatives: readonly DetectorRate[];
  /** Texts that were changed and should not have been. One line per kind, and all of them together. */
  readonly falsePositives: readonly DetectorRate[];
  readonly falsePositivesInAll: DetectorRate;
  /** For printing. */
  readonly lines: readonly string[];
}

export interface DetectorCorpus {
  readonly positives: readonly DetectorPositive[];
  readonly negatives: readonly DetectorNegative[];
}

/** How often `redact` misses, and how often it is wrong, over a corpus whose answers are known. */
export function detectorReport(
  { positives, negatives }: DetectorCorpus,
  redact: (text: string) => string,
): DetectorReport {
  const missed = positives.map(({ id, kind, before, secret, after }) => {
    const text = before + secret.join('') + after;
    return { kind, text: `${id}: ${text}`, isWrong: redact(text) !== `${before}[detected:${id}]${after}` };
  });
  const changed = negatives.map(({ kind, text }) => ({ kind, text, isWrong: redact(text) !== text }));
  const falseNegatives = ratesByKind(missed);
  const falsePositives = ratesByKind(changed);
  const falsePositivesInAll = rateOf('all', changed);
  return {
    falseNegatives,
    falsePositives,
    falsePositivesInAll,
    lines: [
      ...falseNegatives.map((rate) => lineOf('false negatives', rate)),
      lineOf('false positives', falsePositivesInAll),
      ...falsePositives.filter(({ wrong }) => wrong > 0).map((rate) => lineOf('  of them', rate)),
    ],
  };
}

interface Answer {
  readonly kind: string;
  readonly text: string;
  readonly isWrong: boolean;
}

function ratesByKind(answers: readonly Answer[]): DetectorRate[] {
  return [...Map.groupBy(answers, ({ kind }) => kind)].map(([kind, same]) => rateOf(kind, same));
}

function rateOf(kind: string, answers: readonly Answer[]): DetectorRate {
  const cases = answers.filter(({ isWrong }) => isWrong).map(({ text }) => text);
  return { kind, wrong: cases.length, total: answers.length, rate: cases.length / Math.max(answers.length, 1), cases };
}

function lineOf(what: string, { kind, wrong, total, rate }: DetectorRate): string {
  return `redact: ${what}, ${kind}: ${wrong} of ${total} (${(rate * 100).toFixed(1)} %)`;
}
