use super::*;
use crate::data::testing::Says;

fn about(alphabet: Alphabet) -> About {
    About {
        name: "mine".into(),
        about: "predict the next token".into(),
        source: "here".into(),
        token: "token".into(),
        alphabet,
    }
}

/// Token i of the text is i itself, so every token says where it is from.
fn counted(tokens: u32, train_length: usize) -> std::result::Result<NextToken, TooShort> {
    let stream = Stream::Memory((0..tokens).collect());
    NextToken::new(about(Alphabet::Ids), stream, tokens as usize, train_length).unwrap()
}

/// The classes of the last answers of each sample, which are indices into the text.
fn targets(samples: &[Sample], last: usize) -> Vec<usize> {
    let of = |sample: &'_ Sample| sample.answers[sample.answers.len() - last..].to_vec();
    let answers = samples.iter().flat_map(of);
    answers.map(|answer| answer.class).collect()
}

#[test]
fn every_length_is_scored_on_the_same_tokens_with_more_text_before_them() {
    for (tokens, train_length) in [(6_000, 16), (20_001, 16), (40_000, 9)] {
        let task = counted(tokens, train_length).unwrap();
        let scored = task.scored();
        assert_eq!(task.test_lengths(), TIMES.map(|times| times * train_length));
        let first = targets(&task.test_set(train_length), scored);
        assert!(!first.is_empty() && first.len() == task.ends.len() * scored);
        // No token is scored twice, and all of them are held out.
        assert!(first.is_sorted_by(|a, b| a < b));
        assert!(first[0] > task.train);
        assert_eq!(*first.last().unwrap(), tokens as usize - 1);
        for length in task.test_lengths() {
            let set = task.test_set(length);
            assert_eq!(targets(&set, scored), first, "{length}");
            for sample in &set {
                assert_eq!(sample.input.tokens().len(), length);
                // A window is held out as a whole.
                assert!(sample.input.tokens()[0] >= task.train);
                for answer in &sample.answers {
                    assert_eq!(answer.class, sample.input.tokens()[answer.position] + 1);
                }
            }
        }
        assert!(task.ends.len() <= MOST_WINDOWS && task.ends.len() >= FEWEST_WINDOWS);
    }
}

#[test]
fn windows_slid_by_a_stride_cover_the_same_tokens() {
    let task = counted(20_000, 16).unwrap();
    let set = task.test_set(16);
    let plain = targets(&set, 8);
    for stride in [1, 2, 4, 8] {
        let slid = task.sliding(stride);
        assert_eq!(slid.len(), set.len() * 8 / stride);
        assert_eq!(targets(&slid, stride), plain);
        let sizes = slid.iter().map(|s| (s.input.len(), s.answers.len()));
        assert!(sizes.into_iter().all(|size| size == (16, stride)));
    }
    // With a stride of all scored tokens, the windows are those of the test.
    for (slid, window) in task.sliding(8).iter().zip(&set) {
        assert_eq!(slid.input.tokens(), window.input.tokens());
        assert_eq!(slid.answers, window.answers[8..]);
    }
}

#[test]
fn a_training_window_lies_in_its_part_and_asks_for_every_next_token() {
    let task = counted(6_000, 16).unwrap();
    let mut starts = Vec::new();
    for step in 0..200 {
        for sample in task.train_batch(1, step, 8) {
            assert_eq!((sample.input.len(), sample.answers.len()), (16, 16));
            for (position, answer) in sample.answers.iter().enumerate() {
                assert_eq!(answer.position, position);
                assert_eq!(answer.class, sample.input.tokens()[position] + 1);
                assert!(answer.class < task.train);
            }
            starts.push(sample.input.tokens()[0]);
        }
    }
    // 5,400 tokens are for training, so windows start at 0 to 5,383.
    assert!(starts.iter().min().unwrap() < &30 && starts.iter().max().unwrap() > &5_350);
    assert_eq!(task.train_batch(1, 3, 4), task.train_batch(1, 3, 4));
    assert_ne!(task.train_batch(1, 3, 4), task.train_batch(2, 3, 4));
}

#[test]
fn a_length_that_the_held_out_part_is_too_short_for_is_left_out_and_named() {
    // 200 tokens are held out: 8 windows of 32 with 8 tokens each take 33 + 7 · 8 = 89, of 128 take 185,
    // and one token less is too few.
    let task = counted(1_850, 16).unwrap();
    assert_eq!(task.test_lengths(), [16, 32, 64, 128]);
    assert_eq!(task.ends.len(), FEWEST_WINDOWS);
    let task = counted(1_849, 16).unwrap();
    assert_eq!(task.test_lengths(), [16, 32, 64]);
    assert!(task.test_set(128).is_empty());
    task.describe().join("\n").says("not tested at 128");
    // The shortest text for windows of 16 at all holds out 17 + 7 · 8 = 73 tokens.
    assert_eq!(counted(730, 16).unwrap().test_lengths(), [16]);
    let short = |tokens: u32, train_length: usize| {
        let found = counted(tokens, train_length).unwrap_err();
        (found.tokens as u32 == tokens, found.needed, found.longest)
    };
    assert_eq!(short(729, 16), (true, 730, Some(15)));
    assert!(counted(729, 15).is_ok());
    assert_eq!(short(370, 64), (true, 2_890, Some(8)));
    assert_eq!(short(369, 64), (true, 2_890, None));
    assert!(counted(0, 16).is_err());
}

#[test]
fn the_floor_is_that_of_frequencies_in_training() {
    // Training: 900 of 0 and 900 of 1, so each has 901 of 1,803 with the token 2 that never occurs. Held out:
    // 1 and 2 in turn.
    let train = (0..1_800).map(|i| i % 2);
    let tokens: Vec<u32> = train.chain((0..200).map(|i| 1 + i % 2)).collect();
    let stream = Stream::Memory(tokens);
    let task = NextToken::new(about(Alphabet::Bytes), stream, 3, 16)
        .unwrap()
        .unwrap();
    let bits = |count: f64| -(count / 1_803.0).log2();
    let expected = (bits(901.0) + bits(1.0)) / 2.0;
    let floor = task.floor(16);
    assert!((floor - expected).abs() < 1e-12, "{floor}");
    assert_eq!(task.floor(128), floor);
}

#[test]
fn a_token_beyond_the_vocabulary_is_an_error() {
    let of = |tokens| {
        let stream = Stream::Memory((0..tokens).collect());
        NextToken::new(about(Alphabet::Ids), stream, 1_999, 16)
    };
    let said = of(2_000).unwrap_err();
    said.says("a token 1999 in a vocabulary of 1999");
    assert!(of(1_999).is_ok());
}

#[test]
fn tokens_are_written_as_what_they_stand_for() {
    let write = |alphabet, tokens: &[usize]| {
        let stream = Stream::Memory(vec![0; 2_000]);
        let task = NextToken::new(about(alphabet), stream, 256, 16)
            .unwrap()
            .unwrap();
        task.text(tokens)
    };
    let letters = Alphabet::Characters(vec!['x', 'é']);
    assert_eq!(write(letters, &[1, 0, 2]), "éx\u{fffd}");
    assert_eq!(write(Alphabet::Bytes, &[0xc3, 0xa9, 0x21]), "é!");
    assert_eq!(write(Alphabet::Ids, &[50_256, 0]), "50256 0");
    let task = counted(2_000, 16).unwrap();
    assert_eq!(task.prompt(), (1_800..1_808).collect::<Vec<_>>());
}
