import { CREDENTIAL_SHAPES } from './credential-shapes.ts';
import { looksLikeToken, looksMixed } from './looks-secret.ts';
import { ALNUM, BASE64URL, type ByteSet, DIGIT, HEX, LOWER_ALNUM, UPPER_ALNUM, WORD } from './shape-bytes.ts';

/** Bytes of one set, as many as there are up to `most`; fewer than `least` and the shape does not fit. */
export interface ShapeRun {
  readonly of: ByteSet;
  readonly least: number;
  readonly most: number;
}

/** A text as it stands, or a run. Runs are greedy and nothing is tried twice, so every byte is looked at once. */
export type ShapePart = string | ShapeRun;

/**
 * What a well-known credential looks like. `id` is API: it stands in masks as `[detected:ID]`.
 * Parts follow one of the `begins` texts.
 */
export interface TokenShape {
  readonly id: string;
  readonly begins: readonly string[];
  /** For names of settings: they are written in any case. */
  readonly anyCase?: true;
  /** What has to stand before it: the edge of a word, a digit, or what a setting's name may. */
  readonly after?: 'edge' | 'digit' | 'setting';
  readonly parts: readonly ShapePart[];
  /**
   * `open`: found once the last run has its least, and goes on as long as its bytes do. `exact`: the last run has all
   * it may have and a word ends there. `run`: judged when the last run ends. `key_file`: as `open`, up to its last line.
   */
  readonly ends: 'open' | 'exact' | 'run' | 'key_file';
  /** What is hidden: everything from the beginning, only the last run, or that run up to its last at sign. */
  readonly hides: 'all' | 'last' | 'last_until_at';
  /** The last word: `value` is the last run as far as it was read, `name` what the first part took when it is a run. */
  readonly judge: (value: Uint8Array, name: string) => boolean;
}

/** Of random tokens, with a beginning that nothing else has. */
function token(id: string, begins: readonly string[], run: ShapeRun): TokenShape {
  return { id, begins, parts: [run], ends: 'open', hides: 'all', judge: looksLikeToken };
}

/** Of tokens whose beginning also begins ordinary words: all of it has to fit, between the edges of a word. */
function exactToken(id: string, begins: readonly string[], parts: readonly ShapePart[]): TokenShape {
  return { id, begins, after: 'edge', parts, ends: 'exact', hides: 'all', judge: looksMixed };
}

/** The same with capitals in front, which words do not have: one in twenty has no digit. */
function capitalToken(id: string, begins: readonly string[], parts: readonly ShapePart[]): TokenShape {
  return { ...exactToken(id, begins, parts), judge: looksLikeToken };
}

const atLeast = (least: number, of: ByteSet): ShapeRun => ({ of, least, most: Number.POSITIVE_INFINITY });
const exactly = (count: number, of: ByteSet): ShapeRun => ({ of, least: count, most: count });

const CLOUD: readonly TokenShape[] = [
  capitalToken('aws-access-key-id', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], [exactly(16, UPPER_ALNUM)]),
  exactToken('google-api-key', ['AIza'], [exactly(35, BASE64URL)]),
  token('google-oauth-token', ['ya29.'], atLeast(24, BASE64URL)),
  token('google-client-secret', ['GOCSPX-'], atLeast(24, BASE64URL)),
  capitalToken('alibaba-access-key-id', ['LTAI'], [exactly(20, ALNUM)]),
  capitalToken('tencent-secret-id', ['AKID'], [exactly(32, ALNUM)]),
  token('digitalocean-token', ['dop_v1_', 'doo_v1_', 'dor_v1_'], atLeast(64, HEX)),
  token('heroku-token', ['HRKU-AA'], atLeast(40, BASE64URL)),
  token('fly-token', ['fm1_', 'fm2_', 'fo1_'], atLeast(40, BASE64URL)),
  exactToken('databricks-token', ['dapi'], [exactly(32, HEX)]),
  token('planetscale-token', ['pscale_tkn_', 'pscale_pw_', 'pscale_oauth_'], atLeast(32, BASE64URL)),
  token('supabase-token', ['sbp_', 'sb_secret_'], atLeast(22, BASE64URL)),
  token('pulumi-token', ['pul-'], atLeast(40, HEX)),
  token('vault-token', ['hvs.', 'hvb.', 'hvr.'], atLeast(24, BASE64URL)),
  token('terraform-token', ['.atlasv1.'], atLeast(60, BASE64URL)),
  token('doppler-token', ['dp.pt.', 'dp.st.', 'dp.ct.', 'dp.sa.'], atLeast(40, ALNUM)),
  token('tailscale-key', ['tskey-auth-', 'tskey-api-', 'tskey-client-'], atLeast(20, BASE64URL)),
  exactToken(
    'onepassword-secret-key',
    ['A3-'],
    [
      exactly(6, UPPER_ALNUM),
      '-',
      exactly(6, UPPER_ALNUM),
      '-',
      exactly(5, UPPER_ALNUM),
      '-',
      exactly(5, UPPER_ALNUM),
      '-',
      exactly(5, UPPER_ALNUM),
      '-',
      exactly(5, UPPER_ALNUM),
    ],
  ),
  token('onepassword-service-token', ['ops_eyJ'], atLeast(60, BASE64URL)),
  token('age-secret-key', ['AGE-SECRET-KEY-1'], atLeast(58, UPPER_ALNUM)),
];

const CODE_HOSTS: readonly TokenShape[] = [
  token('github-token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], atLeast(36, ALNUM)),
  token('github-fine-grained-token', ['github_pat_'], atLeast(40, WORD)),
  token(
    'gitlab-token',
    ['glpat-', 'glptt-', 'gldt-', 'glrt-', 'glcbt-', 'glsoat-', 'glimt-', 'glft-', 'glagent-', 'gloas-'],
    atLeast(20, BASE64URL),
  ),
  capitalToken('bitbucket-app-password', ['ATBB'], [exactly(32, ALNUM)]),
  token('atlassian-token', ['ATATT3'], atLeast(60, BASE64URL)),
  token('npm-token', ['npm_'], atLeast(36, ALNUM)),
  token('pypi-token', ['pypi-AgEIcHlwaS5vcmc', 'pypi-AgENdGVzdC5weXBpLm9yZw'], atLeast(50, BASE64URL)),
  token('rubygems-token', ['rubygems_'], atLeast(48, HEX)),
  exactToken('crates-token', ['cio'], [exactly(32, ALNUM)]),
  exactToken('nuget-key', ['oy2'], [exactly(43, LOWER_ALNUM)]),
  token('docker-hub-token', ['dckr_pat_', 'dckr_oat_'], atLeast(27, BASE64URL)),
  token('clojars-token', ['CLOJARS_'], atLeast(60, LOWER_ALNUM)),
  token('sentry-token', ['sntrys_', 'sntryu_'], atLeast(40, BASE64URL)),
  token('grafana-token', ['glsa_', 'glc_'], atLeast(32, BASE64URL)),
  token('new-relic-key', ['NRAK-'], atLeast(27, UPPER_ALNUM)),
  token('postman-key', ['PMAK-'], atLeast(40, BASE64URL)),
  token('linear-key', ['lin_api_', 'lin_oauth_'], atLeast(32, ALNUM)),
  token('figma-token', ['figd_'], atLeast(36, BASE64URL)),
  exactToken('airtable-token', ['pat'], [exactly(14, ALNUM), '.', exactly(64, HEX)]),
  exactToken('notion-token', ['secret_', 'ntn_'], [{ of: ALNUM, least: 43, most: 46 }]),
];

const CHAT_AND_MAIL: readonly TokenShape[] = [
  token(
    'slack-token',
    ['xoxb-', 'xoxp-', 'xoxa-', 'xoxr-', 'xoxs-', 'xoxc-', 'xoxd-', 'xoxe-', 'xoxe.xoxp-', 'xoxe.xoxb-', 'xapp-'],
    atLeast(24, BASE64URL),
  ),
  {
    id: 'slack-webhook',
    begins: ['hooks.slack.com/services/T'],
    parts: [exactlyRange(8, 14, ALNUM), '/B', exactlyRange(8, 14, ALNUM), '/', atLeast(20, ALNUM)],
    ends: 'open',
    hides: 'all',
    judge: looksLikeToken,
  },
  {
    id: 'discord-webhook',
    begins: ['discord.com/api/webhooks/', 'discordapp.com/api/webhooks/'],
    parts: [exactlyRange(17, 20, DIGIT), '/', atLeast(60, BASE64URL)],
    ends: 'open',
    hides: 'all',
    judge: looksLikeToken,
  },
  {
    id: 'telegram-bot-token',
    begins: [':AA'],
    after: 'digit',
    parts: [exactly(33, BASE64URL)],
    ends: 'exact',
    hides: 'all',
    judge: looksMixed,
  },
  {
    id: 'sendgrid-key',
    begins: ['SG.'],
    parts: [exactly(22, BASE64URL), '.', atLeast(40, BASE64URL)],
    ends: 'open',
    hides: 'all',
    judge: looksLikeToken,
  },
  exactToken('mailgun-key', ['key-'], [exactly(32, HEX)]),
  exactToken('twilio-key', ['SK'], [exactly(32, HEX)]),
];

const PAYMENT_AND_MODELS: readonly TokenShape[] = [
  token('stripe-key', ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'whsec_'], atLeast(20, ALNUM)),
  token('square-token', ['sq0atp-', 'sq0csp-'], atLeast(22, BASE64URL)),
  token('shopify-token', ['shpat_', 'shpca_', 'shppa_', 'shpss_'], atLeast(32, HEX)),
  token('anthropic-key', ['sk-ant-'], atLeast(24, BASE64URL)),
  token('openai-key', ['sk-proj-', 'sk-svcacct-', 'sk-admin-'], atLeast(24, BASE64URL)),
  exactToken('openai-legacy-key', ['sk-'], [{ of: ALNUM, least: 32, most: 64 }]),
  token('openrouter-key', ['sk-or-v1-'], atLeast(40, HEX)),
  token('hugging-face-token', ['hf_'], atLeast(30, ALNUM)),
  token('groq-key', ['gsk_'], atLeast(40, ALNUM)),
  token('xai-key', ['xai-'], atLeast(60, ALNUM)),
  token('perplexity-key', ['pplx-'], atLeast(40, ALNUM)),
  token('replicate-token', ['r8_'], atLeast(37, ALNUM)),
];

function exactlyRange(least: number, most: number, of: ByteSet): ShapeRun {
  return { of, least, most };
}

export const TOKEN_SHAPES: readonly TokenShape[] = [
  ...CLOUD,
  ...CODE_HOSTS,
  ...CHAT_AND_MAIL,
  ...PAYMENT_AND_MODELS,
  ...CREDENTIAL_SHAPES,
];
