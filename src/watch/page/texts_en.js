// SPDX-License-Identifier: Apache-2.0
// What the page says in English.

const kEnglish = {
  direction: 'ltr', other: 'fa', other_name: 'فارسی',
  theme: 'Colours', theme_auto: 'as the system', theme_light: 'light', theme_dark: 'dark',
  all_runs: 'All runs', runs: 'Training runs', run: 'Run', loading: 'The server reads the runs…', unknown: 'not known',
  no_runs: folders => `No run was found in ${folders}. Start one with “myxtts train”; it appears here by itself.`,
  skip: 'Skip to the content',

  // The server and the page.
  gone: 'The server does not answer. The page shows what it last knew and goes on trying; look whether “myxtts watch” still runs.',
  run_gone: 'The folder of this run is not there any more: it was deleted or renamed. The page shows what it last knew.',
  no_such_run: 'There is no such run here; it may have been renamed or deleted.',
  report_of: (name, time) => `Report of ${name}, written ${time}. It is one file and asks no server.`,
  report_left_out: (sounds, why) => `${sounds} sounds were left out. ${why}`,
  key_title: 'API key', key: 'Key', key_text: 'This server wants an API key. The page keeps it until the tab is closed.',
  key_wrong: 'The server does not know this key. Type another.', key_missing: 'Without an API key the server answers nothing. Reload the page to type one.',
  use_key: 'Use this key', cancel: 'Cancel',

  // The figures of a run.
  part: 'Part of the model', progress: 'Progress', step: 'Step', of: (a, b) => `${a} of ${b}`, at_step: step => `step ${step}`,
  at_steps: (first, last) => `steps ${first} to ${last}`,
  loss: 'Training loss', validation: 'Validation loss', best: 'Best so far', best_at: (loss, step) => `${loss} at step ${step}`,
  speed: 'Speed', speed_value: hours => `${hours} ${kEnglish.speed_unit}`, speed_unit: 'hours of speech an hour', left: 'Time left', ready: 'Batches ready', updated: 'Last sign of life',
  compare: 'Compare', compare_chosen: n => `Compare ${n} runs`, compare_hint: 'Choose two to eight runs to see their curves over each other.',
  choose: name => `Choose ${name} for comparing`, curve_of: name => `Training loss of ${name} over its steps`,
  parts: {gpt: 'GPT (text to speech codes)', dvae: 'DVAE (speech codes)', decoder: 'vocoder (codes to sound)', speaker: 'speaker encoder (voices)'},
  states: {preparing: 'preparing', running: 'running', finished: 'finished', stopped: 'stopped', 'out-of-time': 'out of time', failed: 'failed',
           killed: 'killed', unknown: 'state unknown'},
  sentences: {},  // the server's own are English
  days: n => `${n}\u00a0d`, hours: n => `${n}\u00a0h`, minutes: n => `${n}\u00a0min`, seconds: n => `${n}\u00a0s`, percent: n => `${n}\u00a0%`,
  notes: {}, missing: {},

  // Tabs of a run.
  views: 'What to look at', curves: 'Curves', pipeline: 'Pipeline', samples: 'Samples', clips: 'Clips', settings: 'Settings', log: 'Log',
  checkpoints: 'Checkpoints',

  // Curves.
  chart: 'chart', train_line: 'training', validation_line: 'validation', smoothing: 'Smoothing',
  smoothing_none: 'off', smoothing_over: steps => `over about ${steps} steps`, smoothed_to: value => `smoothed ${value}`, mean_of: (mean, low, high) => `${mean} (${low} to ${high})`,
  log_scale: 'Logarithmic losses', zoom_in: 'Zoom in', zoom_out: 'Zoom out', zoom_all: 'Show all steps',
  chart_keys: 'Drag over a chart to zoom into its steps, double-click to show all. With the keyboard: arrow keys read values, + and − zoom, Page Up and Page Down move, 0 shows all.',
  no_curves: 'No numbers yet: the first line of metrics.jsonl comes with the first logged step.',
  charts: {
    loss: ['Losses', 'How wrong the model still is; lower is better. Validation is measured on clips that are never trained on: if it rises while training falls, the model learns by heart. The ring marks the best.'],
    lr: ['Learning rate', 'How far each step moves the weights.'],
    speed: ['Speed', 'Hours of speech that are trained on in an hour.'],
    ready: ['Ready and waiting', 'Ready: steps whose batch was there in time, since the start. Waiting: share of the last minute that the model waited for batches.'],
    waited: ['Time waited for batches', 'By the model, since the start, in seconds.'],
    gpu: ['Use of the GPUs', 'How busy each GPU was in the last minute. The data GPU prepares batches, the model GPU trains.'],
    watts: ['Power of the GPUs', 'In watts.'],
    memory: ['Memory', 'What preparing the data and training the model hold of their devices.'],
    variation: ['Variation of step times', 'Standard deviation to the mean, in the last minute. Below 30 % is fine.'],
    grad_norm: ['Gradient norm', 'How strongly a step pulls at the weights, before clipping. Spikes are a sign of trouble.'],
    queues: ['Fill of the queues over the steps', ''],
    skipped: ['Skipped steps', 'Since the start. Something in them was too large to be a number, so they changed nothing.'],
    text_loss: ['Loss of the text', 'How well the model foresees the text it reads.'],
    audio_loss: ['Loss of the speech', 'How well the model foresees the codes of the speech. This is what makes it speak.'],
    guide_loss: ['Loss of the guide', 'How closely attention follows the text from left to right.'],
    reconstruction: ['Reconstruction', 'How much of the spectrogram is lost by way of the codes.'],
    commitment: ['Commitment', 'How far sounds lie from their codes.'],
    perplexity: ['Perplexity of the codes', 'How many codes are used evenly; more is better.'],
    codes_used: ['Codes in use', 'Codes that occur at all; more is better.'],
    mel_error: ['Error of the spectrogram', ''],
    mel_loss: ['Loss of the spectrogram', 'How far the sound made is from the recording.'],
    feature_loss: ['Feature loss', 'How different the judge network finds both, inside.'],
    adversarial_loss: ['Adversarial loss', 'How well the judge network tells made sound from recordings.'],
    discriminator_loss: ['Loss of the judge network', ''],
    speaker_loss: ['Loss of the speakers', 'How well voices are told apart.'],
    accuracy: ['Accuracy', 'Share of clips whose speaker is recognised.'],
    cosine_gap: ['Gap between voices', 'How much nearer clips of one speaker are than those of two.'],
    sample_cer: ['Character errors', 'Share of the characters that a recogniser hears wrong in the samples; lower is better, 100 % and more is babble. The ring marks the fewest.'],
    sample_similarity: ['Likeness of the voice', 'How near the voice of the samples is to that of the recordings: 1 is the same, 0 another one. It means little while the speaker encoder is untrained.'],
  },
  lines: {'gpu.data.use': 'data GPU', 'gpu.model.use': 'model GPU', 'gpu.data.watts': 'data GPU', 'gpu.model.watts': 'model GPU',
          'memory.data': 'data', 'memory.model': 'model', 'memory.data_peak': 'data, most', 'memory.model_peak': 'model, most',
          readiness: 'ready', 'monitor.waited_share': 'waiting'},

  // Pipeline.
  pipeline_hint: 'How clips become batches while the model trains. A box works, a tank holds what is waiting to be taken. The last box before an empty tank is what everything behind it waits for.',
  no_pipeline: 'Nothing is known of the pipeline yet: a run writes it while it trains.',
  no_stages: 'This run keeps its batches on the device, so there is no pipeline to show.',
  stages: {reader: ['Reader', 'picks the next clips'], decoder: ['Clip loaders', 'read and decode clips'], batcher: ['Batcher', 'puts clips together'],
           collator: ['Collator', 'lays a batch into memory'], features: ['Features', 'make spectrograms and codes on the data device'],
           trainer: ['Model', 'trains on the batch']},
  queues: {clips: 'clips to load', buffer: 'decoded batches', settled: 'whole batches', staged: 'batches in memory', ring: 'batches on the model device'},
  workers: n => n === '1' ? '1 thread' : `${n} threads`, works: share => `works ${share}`, waits_in: share => `waits for input ${share}`, waits_out: share => `waits for room ${share}`,
  fill: (depth, capacity) => `${depth} of ${capacity}`, fill_mean: mean => `${mean} on average`,
  waiting_for: (who, whom, share) => `${who}: waiting for “${whom}” to deliver, ${share} of the time.`,
  waiting_room: (who, whom, share) => `${who}: ahead of the others, waiting until “${whom}” takes more, ${share} of the time.`,
  nobody_waits: 'Nobody waits for long.', who_waits: 'Who waits for whom', read_at: time => `As it was ${time}.`,
  pipeline_memory: (decoded, limit, staged) => `Memory: ${decoded} of decoded clips (at most ${limit}), ${staged} ready to be copied.`,
  verdict: 'Verdict',
  verdicts: {  // the figures: {ready, steps, share, waited, stage, busy, remedy}
    'kept-up': f => `The pipeline keeps up: ${f.ready} of ${f.steps} batches were there in time (${f.share}), and the model waited ${f.waited} of its time. Nothing to do.`,
    'mostly-kept-up': f => `The pipeline keeps up most of the time: ${f.ready} of ${f.steps} batches were there in time (${f.share}), and the model waited ${f.waited} of its time.`,
    'held-up': f => `The pipeline holds training up: ${f.ready} of ${f.steps} batches were there in time (${f.share}), and the model waited ${f.waited} of its time. The busiest stage is “${f.stage}” (${f.busy}). What helps: ${f.remedy}.`,
    'no-step': () => 'The pipeline has fed no step yet.',
  },
  remedies: null,  // the server's own are English
  devices: 'Devices', data_device: 'Data', model_device: 'Model',
  modes: {dual: 'one GPU prepares the data, another one trains', single: 'one GPU for both', split: 'one GPU, divided into two', cpu: 'no GPU'},

  // Samples.
  samples_hint: 'At each measurement the model says the same sentences. Move the slider to hear how it learns them.',
  copies_hint: 'At each measurement the model copies the same recordings. Move the slider to hear how it learns them.',
  no_samples: 'No samples yet: they are made with each validation, unless --samples 0 was asked for.',
  measurement: 'Measurement', measurement_at: (n, all, step) => `${n} of ${all}, step ${step}`, earlier: 'Earlier measurement', later: 'Later measurement',
  recording: 'Recording', copy: 'Copy of the recording', synthesis: 'Synthesis', voice: 'Voice that is imitated', codes: 'Speech codes',
  sound_left_out: 'left out of this file', sound_failed: 'This sound cannot be played: its file is damaged or gone.',
  spectrogram_of: (what, step) => `Spectrogram: ${what}, step ${step}`, picture: (upper, lower) => `Pictures made in training: above “${upper}”, below “${lower}”`,
  sound_of: (what, name, step) => `${what} of sample ${name}, step ${step}`, sample: name => `Sample ${name}`, no_text: 'Its text is not there.',
  learnt: 'Hear it being learnt', learnt_stop: 'Stop', learnt_hint: 'Plays this sentence from the first measurement to the last.',
  scores: {cer: 'Character errors', similarity: 'likeness of the voice'}, heard: 'Heard:', heard_nothing: '(nothing)',

  // Clips.
  skipped_clips: 'Clips that were left out', skipped_hint: 'The training does not use them. Repair them, or take them out of the corpus.',
  suspicious_clips: 'Suspicious clips', suspicious_hint: 'The training uses them, but their text does not fit their length: it may be the text of another clip. Listen to them.',
  none_skipped: 'None was left out.', none_suspicious: 'None is suspicious.', any_reason: n => `all (${n})`, reason: 'Reason', more: n => `Show more (${n})`,
  play: 'Play', play_clip: file => `Play ${file}`, no_sound: 'no sound to play', line: (file, line) => `${file}, line ${line}`, clip: 'Clip', measured: 'Measured',
  reasons: {
    'bad-line': 'a line that is not of the layout', 'missing-file': 'the file is not there', 'missing-text': 'no text beside the sound', unreadable: 'damaged, or no sound',
    empty: 'empty', truncated: 'cut off', 'not-a-number': 'samples that are no numbers', clipped: 'overdriven throughout', silent: 'silent',
    'audio-too-short': 'too short', 'audio-too-long': 'too long', 'bad-sample-rate': 'unusable sample rate', 'text-empty': 'no text to speak',
    'text-not-utf8': 'text that is not UTF-8', 'text-unknown': 'characters that the vocabulary lacks', 'text-too-long': 'text too long',
    'text-too-fast': 'too much text for its length', 'text-too-slow': 'too little text for its length', 'unknown-language': 'language that the vocabulary lacks',
    'duplicate-id': 'named twice', speed: 'speaks unusually fast or slowly',
  },

  // Settings.
  setting: 'Setting', value: 'Value', origin: 'Where it came from', search: 'Find a setting', only_changed: 'Only what is not the default',
  no_settings: 'config.yaml is not there.', none_found: 'No setting matches.', origin_of: text => text,

  // Log.
  log_level: 'Show', log_all: 'all lines', log_bad: 'warnings and errors', log_earlier: 'Show earlier lines', follow: 'Follow the end', no_log: 'log.txt is empty or not there.',

  // Checkpoints.
  saved: 'Saved', size: 'Size', is_best: 'best', is_latest: 'latest', is_damaged: 'damaged', kind: 'Kind', no_checkpoints: 'No checkpoint yet.', together: size => `Together ${size}.`,
  what_best_is: {
    loss: '“best” is the checkpoint with the lowest validation loss, “latest” the newest. Each is a whole model.',
    cer: '“best” is the checkpoint with the fewest character errors in its samples (--best-by cer), “latest” the newest. Each is a whole model.',
  },
  commands: 'Commands', hear: 'Hear it', resume: 'Resume it', export: 'Export it', report: 'Write a report', 
  copy_commands: {hear: 'Copy the command to hear it', resume: 'Copy the command to resume it', export: 'Copy the command to export it', report: 'Copy the command to write a report'},
  copied: 'Copied.', copy_failed: 'The browser does not let the page copy; select the command and copy it.', copy_button: 'Copy',

  // Comparing.
  comparing: 'Runs over each other', compared: (state, progress, best) => `${state}, step ${progress}, best ${best}`, differences: 'What differs in their settings', no_differences: same => `Nothing: all ${same} settings are the same.`,
  same: n => `${n} further settings are the same.`, not_there: 'not there', compare_few: 'Choose at least two runs in the overview.',

  // Words.
  words_title: 'What the words mean',
  words: [['Run', 'one training, from its start to its end, with everything in one folder'], ['Step', 'one update of the model’s weights'],
          ['Batch', 'the clips that a step learns from'], ['Loss', 'how wrong the model still is; lower is better'],
          ['Validation', 'the same, measured on clips that are never trained on'], ['Checkpoint', 'the whole model as it was at a step, saved on disk'],
          ['Learning rate', 'how far a step moves the weights'], ['Ready', 'how many steps found their batch waiting; near 100 % is good'],
          ['Spectrogram', 'a picture of sound: time from left to right, pitch from below to above']],
};
