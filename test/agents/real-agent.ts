/**
 * The real CLIs, and how each is configured to use our model. All other network access (updates, telemetry, model lists) is
 * turned off.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Package } from './install.ts';

export interface RealAgent {
  /** The name for `--agent`. */
  readonly name: AgentName;
  readonly package: Package;
  /** The value for `--model`. If the CLI knows context sizes, a model with room for more than a megabyte. */
  readonly model: string;
  /** Whether it reports the cost of a run; all of them report tokens. */
  readonly reportsCost: boolean;
  /** Writes its configuration files and returns its environment variables. */
  readonly prepare: (place: Place) => Readonly<Record<string, string>>;
}

export type AgentName = 'claude' | 'codex' | 'opencode' | 'gemini' | 'qwen' | 'copilot';

export interface Place {
  readonly home: string;
  /** The URL of the model. */
  readonly url: string;
}

/** Too long to occur in a stream by accident: the Copilot CLI masks its key wherever it occurs. */
const KEY = 'a-key-that-opens-nothing';

export const REAL_AGENTS: Readonly<Record<AgentName, RealAgent>> = {
  claude: {
    name: 'claude',
    package: {
      name: '@anthropic-ai/claude-code',
      version: '2.1.325',
      finish: '@anthropic-ai/claude-code/install.cjs',
    },
    model: 'claude-sonnet-4-5',
    reportsCost: true,
    prepare: ({ url }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // Without it, it refuses to skip permissions as root, as in most containers.
      IS_SANDBOX: '1',
    }),
  },
  codex: {
    name: 'codex',
    package: { name: '@openai/codex', version: '0.166.0', finish: null },
    model: 'gpt-5.5',
    reportsCost: false,
    prepare: ({ home, url }) => {
      const provider = [
        'name = "ours"',
        `base_url = "${url}/v1"`,
        'env_key = "OUR_KEY"',
        'wire_api = "responses"',
      ];
      const config = ['model_provider = "ours"', '[model_providers.ours]', ...provider];
      write(join(home, '.codex', 'config.toml'), config.join('\n'));
      return { OUR_KEY: KEY };
    },
  },
  opencode: {
    name: 'opencode',
    package: { name: 'opencode-ai', version: '1.18.33', finish: 'opencode-ai/postinstall.mjs' },
    model: 'ours/scripted',
    reportsCost: true,
    prepare: ({ home, url }) => {
      const scripted = {
        limit: { context: 1_000_000, output: 8000 },
        cost: { input: 3, output: 15, cache_read: 1 },
      };
      const ours = {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${url}/v1`, apiKey: KEY },
        models: { scripted },
      };
      write(join(home, '.config', 'opencode', 'opencode.json'), JSON.stringify({ provider: { ours } }));
      return {
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
      };
    },
  },
  gemini: {
    name: 'gemini',
    package: { name: '@google/gemini-cli', version: '0.61.0', finish: null },
    // Without a model name it first asks another model which one to use.
    model: 'gemini-2.5-pro',
    reportsCost: false,
    prepare: ({ home, url }) => {
      const settings = {
        // With a custom base URL it needs to know that the key is still a Gemini key.
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
        // It asks other models whether a long run repeats itself, and records that nowhere before the end.
        model: { disableLoopDetection: true },
      };
      write(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
      return { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: url };
    },
  },
  qwen: {
    name: 'qwen',
    package: { name: '@qwen-code/qwen-code', version: '0.24.4', finish: null },
    model: 'qwen3-coder-plus',
    reportsCost: false,
    prepare: ({ home, url }) => {
      const settings = {
        // Otherwise it asks the model, with tools, what to remember; the scripts have no turn for that.
        memory: { enableManagedAutoMemory: false },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
      };
      write(join(home, '.qwen', 'settings.json'), JSON.stringify(settings));
      return { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'qwen3-coder-plus' };
    },
  },
  copilot: {
    name: 'copilot',
    package: { name: '@github/copilot', version: '1.0.102', finish: null },
    model: 'scripted',
    reportsCost: false,
    prepare: ({ url }) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: KEY,
      COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '1000000',
    }),
  },
};

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${content}\n`);
}
