// SPDX-License-Identifier: Apache-2.0
// What the page says in Persian. What is typed is marked as written from left to right, also within a sentence.

const ltr = text => `\u2066${text}\u2069`;

const kPersian = {
  direction: 'rtl', other: 'en', other_name: 'English',
  skip: 'رفتن به محتوا', theme: 'رنگ‌ها', theme_auto: 'مانند سیستم', theme_light: 'روشن', theme_dark: 'تیره',
  summary: 'پیکره', keys: 'کلیدها', corrections: 'تصحیح‌ها', clips: 'قطعه‌ها', order: 'ترتیب', by_doubt: 'نخست نامطمئن‌ترین‌ها', by_source: 'به ترتیب ضبط',
  show: 'نمایش', show_all: 'همه', show_doubtful: 'آن‌هایی که باید شنید', show_touched: 'آن‌هایی که تغییر داده‌اید', show_rejected: 'آن‌هایی که رد کرده‌اید', search: 'جستجو',
  clip_count: 'قطعه‌ها', speech: 'گفتار', doubtful: 'باید شنید', left_out_count: 'کنار گذاشته', minutes: n => `${n} دقیقه`,
  touched: n => n === 0 ? 'هنوز چیزی تغییر نکرده است.' : `${inWords(n)} قطعه تغییر کرده است.`,
  saved: `ذخیره شد. مرورگر ${ltr('corrections.json')} را در جای دانلودها گذاشت.`,
  saving_hint: `ذخیره، پروندهٔ ${ltr('corrections.json')} را دانلود می‌کند. آن را به پوشهٔ این صفحه ببرید، یا با ${ltr('--corrections')} نامش را بدهید، و همان فرمانی را که ` +
    'پیکره را ساخت دوباره بزنید: تنها آنچه تغییر داده‌اید عوض می‌شود. تا آن هنگام این مرورگر تغییرها را به یاد دارد.',
  save: `ذخیرهٔ ${ltr('corrections.json')}`, forget: 'فراموش کردن تغییرها', really_forget: 'همهٔ تغییرهای این صفحه فراموش شود؟',
  play: 'پخش', pause: 'مکث', accept: 'پذیرفتن', reject: 'رد کردن', text_of: name => `متن ${ltr(name)}`,
  sure: share => `${share} اطمینان`, corrected: 'تصحیح‌شده', heard: text => `شنیده‌شده: ${text}`,
  sources: {book: 'از متن', subtitles: 'از زیرنویس', transcription: 'رونویسی‌شده'},
  speaker: name => `گوینده ${ltr(name)}`,
  doubts: text => ({
    'It begins with words that are not in the text.': 'با واژه‌هایی آغاز می‌شود که در متن نیست.',
    'It ends with words that are not in the text.': 'با واژه‌هایی پایان می‌یابد که در متن نیست.',
    'Words are heard inside that are not in the text.': 'در میان آن واژه‌هایی شنیده می‌شود که در متن نیست.',
    'The text has words inside that were not heard.': 'متن در میان آن واژه‌هایی دارد که شنیده نشده است.',
    'Words of the text at its edge were not heard.': 'واژه‌هایی از متن در کنارهٔ آن شنیده نشده است.',
    'A passage of the text was not read inside it.': 'بخشی از متن در میان آن خوانده نشده است.',
    'The recogniser is not sure of its words.': 'بازشناس گفتار از واژه‌های آن مطمئن نیست.',
  })[text] ?? ltr(text),
  no_clips: 'چنین قطعه‌ای نیست.',
  before: 'پیشین', behind: 'بعدی', page: (a, b) => `صفحهٔ ${a} از ${b}`,
  left_out: (n, minutes) => `کنار گذاشته: ${n} بخش، ${minutes} دقیقه`, stretches: 'یکایک آن‌ها', recording: 'ضبط', time: 'زمان', reason: 'دلیل', said: 'گفتهٔ آن‌جا',
  reason_line: (reason, n, minutes) => `${ltr(reason)} ${n} بار، ${minutes} دقیقه.`, more: n => `نمایش ${n} تای دیگر`,
  unread: n => `بخش‌هایی از متن که در هیچ ضبطی نیست: ${n}`, unread_hint: 'خوانده نشده یا فهمیده نشده‌اند.',
  not_played: name => `${ltr(`wavs/${name}.wav`)} را نمی‌توان پخش کرد. این صفحه صداهای پوشهٔ خودش را پخش می‌کند.`,
  no_corpus: 'این پرونده پیکره‌ای ندارد.',
  key_list: [['Space', 'پخش یا مکث'], ['J ↓', 'قطعهٔ بعدی'], ['K ↑', 'قطعهٔ پیشین'], ['A', 'پذیرفتن و رفتن به بعدی'], ['R', 'رد کردن و رفتن به بعدی'],
             ['E', 'ویرایش متن'], ['Esc', 'بیرون آمدن از متن'], ['Ctrl Enter', 'پذیرفتن از درون متن و رفتن به بعدی']],
};

const kTexts = {en: kEnglish, fa: kPersian};
