// SPDX-License-Identifier: Apache-2.0
// What the page says in English.

const kEnglish = {
  direction: 'ltr', other: 'fa', other_name: 'فارسی',
  skip: 'To the content', theme: 'Colours', theme_auto: 'As the system', theme_light: 'Light', theme_dark: 'Dark',
  summary: 'Corpus', keys: 'Keys', corrections: 'Corrections', clips: 'Clips', order: 'Order', by_doubt: 'most doubtful first', by_source: 'as recorded',
  show: 'Show', show_all: 'all', show_doubtful: 'those to listen to', show_touched: 'those you touched', show_rejected: 'those you rejected', search: 'Search',
  clip_count: 'Clips', speech: 'Speech', doubtful: 'To listen to', left_out_count: 'Left out', minutes: n => `${n} min`,
  touched: n => n === 0 ? 'Nothing is touched yet.' : n === 1 ? 'One clip is touched.' : `${n} clips are touched.`,
  saved: 'Saved. The browser put corrections.json where it puts downloads.',
  saving_hint: 'Saving downloads corrections.json. Move it into the folder of this page, or name it with --corrections, and type the command that made the ' +
    'corpus again: it changes only what you touched. Until then this browser remembers your changes.',
  save: 'Save corrections.json', forget: 'Forget my changes', really_forget: 'Forget every change on this page?',
  play: 'Play', pause: 'Pause', accept: 'Accept', reject: 'Reject', text_of: name => `Text of ${name}`,
  sure: share => `${share} sure`, corrected: 'corrected', heard: text => `Heard: ${text}`,
  sources: {book: 'from the text', subtitles: 'from the subtitles', transcription: 'transcribed'},
  speaker: name => `speaker ${name}`,
  doubts: text => text,  // as the program wrote it
  no_clips: 'There is no such clip.',
  before: 'Back', behind: 'Next', page: (a, b) => `Page ${a} of ${b}`,
  left_out: (n, minutes) => `Left out: ${n} stretches, ${minutes} min`, stretches: 'Each of them', recording: 'Recording', time: 'Time', reason: 'Reason', said: 'Said there',
  reason_line: (reason, n, minutes) => `${reason} ${n} times, ${minutes} min.`, more: n => `Show ${n} more`,
  unread: n => `Passages of the text that no recording has: ${n}`, unread_hint: 'They were not read, or not understood.',
  not_played: name => `wavs/${name}.wav cannot be played. This page plays the sounds of the folder it lies in.`,
  no_corpus: 'This file holds no corpus.',
  key_list: [['Space', 'play or pause'], ['J ↓', 'next clip'], ['K ↑', 'clip before'], ['A', 'accept, and go on'], ['R', 'reject, and go on'],
             ['E', 'edit the text'], ['Esc', 'leave the text'], ['Ctrl Enter', 'accept from within the text, and go on']],
};
